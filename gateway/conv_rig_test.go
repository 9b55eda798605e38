package gateway_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/loop/recording"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim/memnet"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/checkpoint"
	"github.com/talaria-agent/talaria/tools/files"
	"github.com/talaria-agent/talaria/tools/terminal"
	"github.com/talaria-agent/talaria/tools/vision"
)

// rig is a gateway over one simulator, one store and a scripted model, inside a bubble.
type rig struct {
	t         *testing.T
	world     world
	net       *memnet.Listener
	store     sessions.Store
	script    *txtar.Archive
	model     *scripted
	cfg       gateway.Config
	tools     *tools.Registry
	missing   []tools.Missing
	source    tools.Source
	limits    loop.Limits
	window    int
	fallback  bool         // there is a model before the scripted one, which is always overloaded
	scarce    int          // the window of the scripted one, if that is smaller
	stuck     bool         // the compressor cannot make anything smaller
	ask       []tools.Risk // what permission is needed for
	smart     bool         // the model looks at a call before a person is asked
	sees      bool         // the scripted model sees pictures
	eyes      bool         // it describes them for the conversation's, which does not
	shell     bool         // there is the terminal, without a sandbox
	shadow    string       // a place in shadow
	reactions bool         // what is seen includes reactions; whether a message waits can be a matter of chance
	notebook  gateway.Notebook
	skillbook gateway.Skillbook
	search    *agenttools.Search
	price     float64  // US dollars for a token of the model; 0 = not known
	agent     []string // toolsets that work on the session
	ops       bool     // there are the tools that read logs, metrics and documents
	opsFolder string   // where the logs and documents are
	log       *logBuffer

	recordings *recording.Folder
	counts     *counts
	uncounted  bool // what the counts say does not matter

	background background // what tools have left running

	executed atomic.Int64 // how often the dangerous tool has run

	server  *http.Server
	cancel  context.CancelFunc
	mortal  *mortal // the store as the running gateway sees it
	running chan error
	threads map[string]string // place -> thread id
	notes   []<-chan string
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
		t: t, script: script, world: w, net: memnet.Listen(), store: store, model: model, log: &logBuffer{}, counts: newCounts(),
		search: agenttools.NewSearch(store), limits: loop.DefaultLimits(), window: 128_000, threads: map[string]string{},
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
			Jobs:    gateway.Errands{PerPerson: 20, Grace: time.Hour, Zone: "UTC"}, Background: gateway.Errands{PerPerson: 3},
			Places: map[string]platforms.Address{},
		},
	}
	r.recordings = &recording.Folder{Path: filepath.Join(t.TempDir(), "recordings"), Max: 1 << 30}
	r.opsFolder = t.TempDir()
	r.configure(section(script, "config"))
	secrets, err := files.NewSecrets(files.DefaultSecrets())
	if err != nil {
		t.Fatal(err)
	}
	all, err := files.New(secrets)
	if err != nil {
		t.Fatal(err)
	}
	extra, err := testTools(&r.executed)
	if err != nil {
		t.Fatal(err)
	}
	own, err := r.agentTools()
	if err != nil {
		t.Fatal(err)
	}
	watching, err := r.opsTools(script)
	if err != nil {
		t.Fatal(err)
	}
	launch, err := r.background.tool()
	if err != nil {
		t.Fatal(err)
	}
	own = append(append(own, watching...), launch)
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
	r.server = &http.Server{Handler: r.besidePrometheus(w.stage.Handler(), section(script, "metrics"))}
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

// start starts the gateway; stop stops it and waits.
func (r *rig) start() {
	log := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	adapter, err := r.world.adapter(r.net, log)
	if err != nil {
		r.t.Fatal(err)
	}
	if adapter, err = r.inShadow(adapter, log); err != nil {
		r.t.Fatal(err)
	}
	compressor := loop.NewCompressor(r.model, r.window, r.cfg.MaxOutput)
	var model loop.Model = r.model
	if r.fallback {
		model = loop.NewChain(loop.Link{Model: overloaded{}}, loop.Link{Model: r.model, Profile: loop.Profile{Window: r.scarce}})
	}
	if r.sees {
		model = loop.NewChain(loop.Link{Model: r.model, Profile: loop.Profile{Vision: true}})
	}
	runner := &loop.Runner{Model: model, Limits: r.limits, Compressor: compressor, Log: log}
	var before gateway.Compressor = runner
	var recorder gateway.Recorder = r.recordings
	if r.stuck {
		before, recorder = stuckCompressor{}, turnsAlone{r.recordings}
	}
	if r.ask != nil {
		runner.Policy = tools.AskByRisk(r.ask)
	}
	r.mortal = &mortal{Store: r.store}
	copies := checkpoint.New(checkpoint.Options{Folder: r.cfg.WorkRoot + "-copies", Keep: 20, Skip: []string{loop.ResultsFolder}, Log: log})
	runner.Hooks = append(runner.Hooks, copies)
	parts := gateway.Parts{
		Store: r.mortal, Adapters: []platforms.Adapter{adapter}, Tools: r.tools, Missing: r.missing, Source: r.source, Notes: r.notebook, Skills: r.skillbook, Search: r.search, Version: "v1.2.3", Log: log, Recorder: recorder, Compressor: before, Runner: runner,
		Observe: r.counts.observe, Checkpoints: copies, Background: &r.background, Fit: vision.Fit,
		Price: func(_ string, u sessions.Usage) (float64, bool) {
			return float64(u.Input+u.Output) * r.price, r.price > 0
		},
	}
	if r.eyes {
		parts.Eyes = loop.NewDescriber(loop.NewChain(loop.Link{Model: r.model}), 0)
	}
	if r.smart {
		parts.Judge = loop.NewJudge(loop.NewChain(loop.Link{Model: r.model}), 0)
	}
	g, err := gateway.New(r.cfg, parts)
	if err != nil {
		r.t.Fatal(err)
	}
	g.Supervised()
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
	if !r.uncounted {
		r.counts.addUp(r.t, r.store)
	}
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
	left atomic.Int64 // with so many commits it dies; 0 = it does not
	lose bool         // the last of them is not written any more
}

func (m *mortal) Commit(ctx context.Context, c sessions.Commit) (sessions.Revision, error) {
	if m.dead.Load() {
		return 0, errors.New("the process is dead")
	}
	last := m.left.Load() > 0 && m.left.Add(-1) == 0
	if last {
		m.dead.Store(true)
	}
	if last && m.lose {
		return 0, errors.New("the process died before this was written")
	}
	revision, err := m.Store.Commit(ctx, c)
	if last {
		err = errors.New("the process died while this was written") // and has not heard that it was
	}
	return revision, err
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

func (stuckCompressor) Compress(context.Context, loop.Turn, string) (sessions.Compaction, error) {
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

// size is the memory that the log takes, in bytes.
func (l *logBuffer) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Cap()
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// turnsAlone records no compressions: the one above could not be played.
type turnsAlone struct{ *recording.Folder }

func (turnsAlone) BeginCompression(_ context.Context, _ loop.Setup, work loop.Turn) (loop.Turn, func(sessions.Compaction, error) error, error) {
	return work, func(sessions.Compaction, error) error { return nil }, nil
}
