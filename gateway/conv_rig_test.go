package gateway_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/recording"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/discord"
	"github.com/talaria-agent/talaria/platforms/sim"
	simdiscord "github.com/talaria-agent/talaria/platforms/sim/discord"
	"github.com/talaria-agent/talaria/platforms/sim/memnet"
	simslack "github.com/talaria-agent/talaria/platforms/sim/slack"
	"github.com/talaria-agent/talaria/platforms/sim/spec"
	simtelegram "github.com/talaria-agent/talaria/platforms/sim/telegram"
	"github.com/talaria-agent/talaria/platforms/slack"
	"github.com/talaria-agent/talaria/platforms/telegram"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/checkpoint"
	"github.com/talaria-agent/talaria/tools/files"
	"github.com/talaria-agent/talaria/tools/terminal"
)

// rig is a gateway over one simulator, one store and a scripted model, inside a bubble.
type rig struct {
	t         *testing.T
	world     world
	net       *memnet.Listener
	store     sessions.Store
	model     *scripted
	cfg       gateway.Config
	tools     *tools.Registry
	missing   []tools.Missing
	limits    loop.Limits
	window    int
	fallback  bool         // there is a model before the scripted one, which is always overloaded
	stuck     bool         // the compressor cannot make anything smaller
	ask       []tools.Risk // what permission is needed for
	shell     bool         // there is the terminal, without a sandbox
	reactions bool         // what is seen includes reactions; whether a message waits can be a matter of chance
	notebook  gateway.Notebook
	agent     []string // toolsets that work on the session
	log       *logBuffer

	recordings *recording.Folder
	counts     *counts

	server  *http.Server
	cancel  context.CancelFunc
	mortal  *mortal // the store as the running gateway sees it
	running chan error
	threads map[string]string // place -> thread id
	notes   []<-chan string
}

// world is one platform as the scripts see it: the same people and places everywhere.
type world struct {
	name       platforms.Name
	stage      sim.Stage
	adapter    func(net *memnet.Listener, log *slog.Logger) (platforms.Adapter, error)
	users      map[string]string // name -> id
	places     map[string]string // dm, dm2, dmx, group -> chat id
	forum      string            // the chat that threads are in
	thread     string            // id of the thread, "" = the first message's own
	send, edit string            // methods, for faults
}

func newWorld(p platforms.Name) world {
	switch p {
	case platforms.Telegram:
		const token = "7000000001:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
		w := world{
			name: p, stage: simtelegram.New(simtelegram.Options{Token: token, BotID: 7000000001}),
			users:  map[string]string{"alice": "101", "bob": "102", "mallory": "103"},
			places: map[string]string{"dm": "101", "dm2": "102", "dmx": "103", "group": "-5001"},
			forum:  "-1001000000002", thread: "5", send: "sendMessage", edit: "editMessageText",
		}
		w.adapter = func(net *memnet.Listener, log *slog.Logger) (platforms.Adapter, error) {
			return telegram.New(telegram.Config{Token: token, APIURL: "http://telegram.test", Dial: net.Dial, Log: log})
		}
		return w
	case platforms.Slack:
		w := world{
			name: p, stage: simslack.New(simslack.Config{}),
			users:  map[string]string{"alice": "U101", "bob": "U102", "mallory": "U103"},
			places: map[string]string{"dm": "D101", "dm2": "D102", "dmx": "D103", "group": "C101"},
			forum:  "C102", send: "chat.postMessage", edit: "chat.update",
		}
		w.adapter = func(net *memnet.Listener, log *slog.Logger) (platforms.Adapter, error) {
			return slack.New(slack.Config{
				BotToken: "xoxb-simulated", AppToken: "xapp-simulated", APIURL: "http://slack.test/api/", Dial: net.Dial, Log: log,
			})
		}
		return w
	default:
		w := world{
			name: p, stage: simdiscord.New(simdiscord.Options{Token: "simulated"}),
			users:  map[string]string{"alice": "500000000000000101", "bob": "500000000000000102", "mallory": "500000000000000103"},
			places: map[string]string{"dm": "600000000000000101", "dm2": "600000000000000102", "dmx": "600000000000000103", "group": "600000000000000001"},
			forum:  "600000000000000002", thread: "600000000000000777", send: "POST /channels/messages", edit: "PATCH /channels/messages",
		}
		w.adapter = func(net *memnet.Listener, log *slog.Logger) (platforms.Adapter, error) {
			return discord.New(discord.Config{Token: "simulated", APIURL: "http://discord.test", Dial: net.Dial, Log: log})
		}
		return w
	}
}

// people puts alice and bob, who may, and mallory, who may not, into the world.
func (w world) people() {
	var all []string
	for name, id := range w.users {
		w.stage.AddUser(sim.User{ID: id, Name: strings.ToUpper(name[:1]) + name[1:]})
		all = append(all, id)
	}
	for place, user := range map[string]string{"dm": "alice", "dm2": "bob", "dmx": "mallory"} {
		w.stage.AddChat(sim.Chat{ID: w.places[place], Kind: "dm", Title: user, Members: []string{w.users[user]}})
	}
	kind, forum := "channel", "channel"
	if w.name == platforms.Telegram {
		kind, forum = "group", "forum"
	}
	w.stage.AddChat(sim.Chat{ID: w.places["group"], Kind: kind, Title: "Olympus", Members: all})
	w.stage.AddChat(sim.Chat{ID: w.forum, Kind: forum, Title: "Forum", Members: all})
}

// checkRequests makes a simulator check every request field by field, where the platform's official description may be
// part of this repository. Elsewhere the adapter's own tests do.
func (w world) checkRequests(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("../platforms/sim/testdata", string(w.name)+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	description, err := spec.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	w.stage.(interface{ CheckAgainst(spec.Description) }).CheckAgainst(description)
}

func newRig(t *testing.T, p platforms.Name, store sessions.Store, script *txtar.Archive) *rig {
	t.Helper()
	w := newWorld(p)
	w.people()
	w.checkRequests(t)
	model, err := parseModel(section(script, "model"))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		t: t, world: w, net: memnet.Listen(), store: store, model: model, log: &logBuffer{}, counts: newCounts(),
		limits: loop.DefaultLimits(), window: 128_000, threads: map[string]string{},
		cfg: gateway.Config{
			Access: gateway.Access{
				Users:  map[platforms.Name][]string{p: {w.users["alice"], w.users["bob"]}},
				Chats:  map[platforms.Name][]string{p: {w.places["group"], w.forum}},
				Admins: map[platforms.Name][]string{},
			},
			Workers: 8, Busy: gateway.Interrupt, CompressAt: 0.85, MaxOutput: 1000,
			Progress: gateway.ProgressAll, EditEvery: 1500 * time.Millisecond, CatchUp: 24 * time.Hour,
			WorkRoot: filepath.Join(t.TempDir(), "work"), Grace: 10 * time.Second,
			NewWork: func(folder string) error { return seed(folder, script) },
		},
	}
	r.recordings = &recording.Folder{Path: filepath.Join(t.TempDir(), "recordings"), Max: 1 << 30}
	r.configure(section(script, "config"))
	secrets, err := files.NewSecrets(files.DefaultSecrets())
	if err != nil {
		t.Fatal(err)
	}
	all, err := files.New(secrets)
	if err != nil {
		t.Fatal(err)
	}
	extra, err := testTools()
	if err != nil {
		t.Fatal(err)
	}
	own, err := r.agentTools()
	if err != nil {
		t.Fatal(err)
	}
	if r.shell {
		shell, err := terminal.New(terminal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		own = append(own, shell...)
	}
	if page := section(script, "page"); page != "" {
		own = append(own, webTools(t, page)...)
	}
	if r.tools, err = tools.NewRegistry(slices.Concat(all, extra, own)...); err != nil {
		t.Fatal(err)
	}
	r.server = &http.Server{Handler: w.stage.Handler()}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = r.server.Serve(r.net)
	}()
	t.Cleanup(func() {
		r.stop()
		w.stage.Close()
		_ = r.server.Close()
		<-served
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("log of the gateway:\n%s", r.log.String())
		}
	})
	r.start()
	return r
}

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
			r.ask = map[string][]tools.Risk{"ask": {tools.Executes}, "writes": {tools.Writes}}[value]
		case "terminal":
			r.shell = value == "yes"
		case "missing":
			set, reason, _ := strings.Cut(value, ": ")
			r.missing = append(r.missing, tools.Missing{Toolset: set, Reason: reason})
		case "agent":
			r.agent = strings.Split(value, ", ")
		case "admin":
			r.cfg.Access.Admins[r.world.name] = []string{r.world.users[value]}
		default:
			r.t.Fatalf("config: no key %q", key)
		}
	}
	r.cfg.Window = r.window
}

// start starts the gateway; stop stops it and waits.
func (r *rig) start() {
	log := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	adapter, err := r.world.adapter(r.net, log)
	if err != nil {
		r.t.Fatal(err)
	}
	compressor := loop.NewCompressor(r.model, r.window, r.cfg.MaxOutput)
	var before gateway.Compressor = compressor
	if r.stuck {
		before = stuckCompressor{}
	}
	var model loop.Model = r.model
	if r.fallback {
		model = loop.NewChain(loop.Link{Model: overloaded{}}, loop.Link{Model: r.model})
	}
	runner := &loop.Runner{Model: model, Limits: r.limits, Compressor: compressor, Log: log}
	if r.ask != nil {
		runner.Policy = tools.AskByRisk(r.ask)
	}
	r.mortal = &mortal{Store: r.store}
	copies := checkpoint.New(checkpoint.Options{Folder: r.cfg.WorkRoot + "-copies", Keep: 20, Skip: []string{loop.ResultsFolder}, Log: log})
	runner.Hooks = append(runner.Hooks, copies)
	g, err := gateway.New(r.cfg, gateway.Parts{
		Store: r.mortal, Adapters: []platforms.Adapter{adapter}, Tools: r.tools, Missing: r.missing, Notes: r.notebook, Log: log, Recorder: r.recordings, Compressor: before, Runner: runner,
		Observe: r.counts.observe, Checkpoints: copies,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	r.cancel, r.running = cancel, make(chan error, 1)
	go func() { r.running <- g.Run(ctx) }()
	r.settle()
}

func (r *rig) stop() {
	if r.cancel == nil {
		return
	}
	r.cancel()
	if err := <-r.running; err != nil {
		r.t.Errorf("the gateway ended with: %v", err)
	}
	r.cancel = nil
	r.counts.addUp(r.t, r.store)
}

// crash ends the gateway so that it writes nothing down any more.
func (r *rig) crash() {
	r.mortal.dead.Store(true)
	r.stop()
}

// mortal is a store that takes nothing any more once its process is dead.
type mortal struct {
	sessions.Store
	dead atomic.Bool
}

func (m *mortal) Commit(ctx context.Context, c sessions.Commit) (sessions.Revision, error) {
	if m.dead.Load() {
		return 0, errors.New("the process is dead")
	}
	return m.Store.Commit(ctx, c)
}

// settle lets a moment of virtual time pass, so that everything that is under way has happened.
func (r *rig) settle() {
	time.Sleep(50 * time.Millisecond)
	synctest.Wait()
}

// leftovers fails the test for what must never be left: ledgers that were not valid, unfinished items, undelivered rows.
func (r *rig) leftovers() {
	for _, b := range r.model.broken {
		r.t.Errorf("the model got a ledger that is not valid: %s", b)
	}
	if v, ok := r.world.stage.(interface{ Violations() []string }); ok {
		for _, violation := range v.Violations() {
			r.t.Errorf("a request does not fit the API's description: %s", violation)
		}
	}
	for item, err := range r.store.Pending(context.Background()) {
		r.t.Errorf("an accepted item has no outcome: %s %v", item.ID, err)
	}
	for row, err := range r.store.Undelivered(context.Background()) {
		if err != nil {
			r.t.Error(err)
		}
		for _, p := range row.Parts {
			if p.State != sessions.InDoubt && !p.State.Final() {
				r.t.Errorf("an answer was not delivered: %s %+v", row.Lane, p)
			}
		}
	}
}

// overloaded is a model that never answers.
type overloaded struct{}

func (overloaded) Name() string { return "first" }

func (overloaded) Call(context.Context, loop.Request, func(string)) (loop.Reply, error) {
	return loop.Reply{}, &loop.ModelError{Class: loop.ModelOverloaded, Err: errors.New("scripted")}
}

// stuckCompressor is one whose last compressions did not help.
type stuckCompressor struct{}

func (stuckCompressor) Compress(context.Context, *sessions.Session, loop.Aim) (sessions.Compaction, error) {
	return sessions.Compaction{}, loop.ErrIneffective
}

// logBuffer keeps the log of the gateway for a failed test.
type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// deliver changes how answers come.
func (r *rig) deliver(change func(*gateway.Delivery)) {
	d := r.cfg.Delivery[""]
	change(&d)
	r.cfg.Delivery = gateway.Deliveries{"": d}
}
