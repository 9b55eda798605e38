package discord

import (
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	simulator "github.com/talaria-agent/talaria/platforms/sim/discord"
)

func TestInvite(t *testing.T) {
	u, err := url.Parse(Invite("1000000000000000001"))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if q.Get("permissions") != "309237746752" || q.Get("scope") != "bot applications.commands" || q.Get("client_id") != "1000000000000000001" {
		t.Errorf("the invitation is %v", q)
	}
	asked := 0
	for _, i := range Intents() {
		bit := map[string]int{"Guilds": 1, "Guild Messages": 1 << 9, "Direct Messages": 1 << 12, "Message Content": 1 << 15}[i.Name]
		if bit == 0 || i.Privileged != (i.Name == "Message Content") {
			t.Errorf("intent %+v", i)
		}
		asked |= bit
	}
	if asked != int(intents) {
		t.Errorf("the intents are %b, and %b are told", intents, asked)
	}
}

func TestCheckSaysWhatIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		opts simulator.Options
		want string
		all  int
	}{
		"nothing":       {simulator.Options{}, "", 0},
		"the intent":    {simulator.Options{NoMessageContent: true}, "close code 4014", 1},
		"connections":   {simulator.Options{IdentifiesLeft: 10}, "connected too often today", 1},
		"the server":    {simulator.Options{Outside: true}, "the bot is in no server", 1},
		"permissions":   {simulator.Options{Permissions: PermissionBits() &^ (1<<38 | 1<<15)}, "lacks the permission Attach Files, Send Messages in Threads, so the bot can send no files", 1},
		"administrator": {simulator.Options{Permissions: administrator}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := prepare(t, test.opts)
				c, err := r.adapter.Check(t.Context(), 0)
				if err != nil || len(c.Problems) != test.all {
					t.Fatalf("the check finds %+v, %v", c.Problems, err)
				}
				if !strings.Contains(c.Who, "Talaria (user ") || !strings.Contains(c.Link, simulator.Application) {
					t.Errorf("the bot is %+v", c)
				}
				if test.all > 0 && (!strings.Contains(c.Problems[0].What, test.want) || c.Problems[0].Cure == "") {
					t.Errorf("the problem is %+v", c.Problems[0])
				}
			})
		})
	}
}

// TestEachPermissionIsNeeded: the simulated server refuses what the bot has no permission for. That the permissions are
// enough, every other test here shows.
func TestEachPermissionIsNeeded(t *testing.T) {
	for _, p := range Permissions() {
		t.Run(p.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := prepare(t, simulator.Options{})
				id, err := r.sim.Say(sim.Say{User: ann, Chat: general, Text: "x"})
				if err != nil {
					t.Fatal(err)
				}
				r.sim.SetPermissions(PermissionBits() &^ (1 << p.Bit))
				switch p.Name {
				case "Add Reactions":
					err = r.adapter.React(t.Context(), at(general), id, "👀")
				case "Read Message History":
					_, err = r.adapter.Send(t.Context(), at(general), platforms.Outgoing{Text: "x", ReplyTo: id})
				case "View Channels", "Send Messages":
					_, err = r.adapter.Send(t.Context(), at(general), platforms.Outgoing{Text: "x"})
				default: // threads, files and previews are not made by this adapter yet, or not refused
					return
				}
				if platforms.ClassOf(err) != platforms.Forbidden {
					t.Errorf("without %s the error is %v", p.Name, err)
				}
			})
		})
	}
}
