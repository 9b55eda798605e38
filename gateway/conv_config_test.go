package gateway_test

import (
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/tools"
)

// configure reads the "config" section: "key = value" lines.
func (r *rig) configure(text string) {
	r.t.Helper()
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			r.t.Fatalf("config: %v", err)
		}
		return n
	}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if !ok {
			continue
		}
		switch key {
		case "busy":
			r.cfg.Busy = gateway.Busy(value)
		case "chat":
			r.cfg.ChatTools = strings.Split(value, ", ")
		case "jobs_per_person":
			r.cfg.Jobs.PerPerson = number(value)
		case "tasks_per_person":
			r.cfg.Background.PerPerson = number(value)
		case "tasks_may_use":
			r.cfg.Background.Toolsets = strings.Split(value, ", ")
		case "zone":
			r.cfg.Jobs.Zone = value
		case "place":
			name, place, _ := strings.Cut(value, ": ")
			r.cfg.Places[name] = platforms.Address{Platform: r.world.name, Chat: r.world.places[place]}
		case "busy_in_group":
			r.cfg.BusyAt = map[string]gateway.Busy{string(r.world.name) + ":" + r.world.places["group"]: gateway.Busy(value)}
		case "max_queued":
			r.cfg.MaxQueued = number(value)
		case "max_queued_per_user":
			r.cfg.MaxQueuedPerUser = number(value)
		case "max_age":
			r.cfg.MaxAge = time.Duration(number(value)) * time.Second
		case "catch_up":
			r.cfg.CatchUp = time.Duration(number(value)) * time.Second
		case "workers":
			r.cfg.Workers = number(value)
		case "final":
			r.deliver(func(d *gateway.Delivery) { d.Final = gateway.Final(value) })
		case "stream":
			r.deliver(func(d *gateway.Delivery) { d.Stream = gateway.Stream(value) })
		case "progress":
			r.cfg.Progress = gateway.Progress(value)
		case "fallback":
			r.fallback = value == "yes"
		case "fallback_window":
			r.scarce = number(value)
		case "price_in_cents":
			r.price = float64(number(value)) / 100
		case "compressor":
			r.stuck = value == "stuck"
		case "window":
			r.window = number(value)
		case "max_turns":
			r.limits.MaxTurns = number(value)
		case "max_tool_calls":
			r.limits.MaxToolCalls = number(value)
		case "timeout":
			r.limits.Timeout = time.Duration(number(value)) * time.Second
		case "reactions":
			r.reactions = value == "show"
		case "approval":
			r.ask = map[string][]tools.Risk{"ask": {tools.Executes}, "smart": {tools.Executes}, "outside": {tools.Outside}, "writes": {tools.Writes}}[value]
			r.smart = value == "smart"
		case "max_file":
			r.cfg.Files = gateway.DefaultFiles()
			r.cfg.Files.MaxBytes = int64(number(value))
		case "servers":
			r.source = newShop(r.t)
		case "ops":
			r.ops = value == "yes"
		case "vision":
			r.sees, r.eyes = value == "model", value == "auxiliary"
		case "terminal":
			r.shell = value == "yes"
		case "missing":
			set, reason, _ := strings.Cut(value, ": ")
			r.missing = append(r.missing, tools.Missing{Toolset: set, Reason: reason})
		case "agent":
			r.agent = strings.Split(value, ", ")
		case "shadow":
			r.shadow = string(r.world.name) + ":" + r.world.places[value]
		case "home":
			r.cfg.Homes = []platforms.Address{{Platform: r.world.name, Chat: r.world.places[value]}}
		case "admin":
			r.cfg.Access.Admins[r.world.name] = []string{r.world.users[value]}
		default:
			r.t.Fatalf("config: no key %q", key)
		}
	}
	r.cfg.Window = r.window
}

// deliver changes how answers come.
func (r *rig) deliver(change func(*gateway.Delivery)) {
	d := r.cfg.Delivery[""]
	change(&d)
	r.cfg.Delivery = gateway.Deliveries{"": d}
}
