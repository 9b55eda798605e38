package gateway_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// fakeChat is a platform without a network, for tests that spoil what simulators cannot: it repeats an update until the
// sink has taken it, and every call can be made to go wrong.
type fakeChat struct {
	name  platforms.Name
	spoil func(call string, out platforms.Outgoing) error // nil = nothing goes wrong

	mu      sync.Mutex
	posts   []fakePost
	sink    platforms.Sink
	ctx     context.Context
	arrived chan struct{} // closed once Run has been called
	said    sync.WaitGroup
	broken  chan error
	next    int
}

type fakePost struct {
	id  string
	to  platforms.Address
	out platforms.Outgoing
}

func newFakeChat(name platforms.Name) *fakeChat {
	return &fakeChat{name: name, arrived: make(chan struct{}), broken: make(chan error, 1)}
}

func (f *fakeChat) Name() platforms.Name { return f.name }

func (f *fakeChat) Run(ctx context.Context, sink platforms.Sink) error {
	f.mu.Lock()
	f.sink, f.ctx = sink, ctx
	close(f.arrived)
	f.mu.Unlock()
	var err error
	select {
	case <-ctx.Done():
	case err = <-f.broken:
	}
	f.said.Wait()
	f.mu.Lock()
	f.arrived = make(chan struct{})
	f.mu.Unlock()
	return err
}

// fail ends Run.
func (f *fakeChat) fail(err error) { f.broken <- err }

func (f *fakeChat) Send(_ context.Context, to platforms.Address, out platforms.Outgoing) (string, error) {
	if err := f.spoiled("send", out); err != nil {
		return "", err
	}
	return f.post(to, out), nil
}

func (f *fakeChat) post(to platforms.Address, out platforms.Outgoing) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	id := fmt.Sprint("p", f.next)
	f.posts = append(f.posts, fakePost{id, to, out})
	return id
}

func (f *fakeChat) Edit(_ context.Context, _ platforms.Address, id string, out platforms.Outgoing) error {
	if err := f.spoiled("edit", out); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.posts {
		if f.posts[i].id == id {
			f.posts[i].out = out
		}
	}
	return nil
}

func (f *fakeChat) spoiled(call string, out platforms.Outgoing) error {
	f.mu.Lock()
	spoil := f.spoil
	f.mu.Unlock()
	if spoil == nil {
		return nil
	}
	return spoil(call, out)
}

func (f *fakeChat) setSpoil(spoil func(call string, out platforms.Outgoing) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spoil = spoil
}

// Split cuts at form feeds, so that a test decides about parts.
func (f *fakeChat) Split(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return strings.Split(text, "\f")
}

func (f *fakeChat) Limits() platforms.Limits {
	return platforms.Limits{Text: 4000, EditEvery: time.Second, TypingFor: 5 * time.Second}
}

// deliver gives an update to the sink until it is taken, once the gateway runs; as platforms do.
func (f *fakeChat) deliver(u platforms.Update) {
	f.mu.Lock()
	arrived := f.arrived
	f.mu.Unlock()
	<-arrived
	f.said.Add(1)
	defer f.said.Done()
	for n := 0; ; n++ {
		if _, err := f.sink(f.ctx, u); err == nil || f.ctx.Err() != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// say lets somebody write a direct message.
func (f *fakeChat) say(user, id, text string) {
	f.deliver(&platforms.Message{Origin: f.direct(user), Native: id, ID: id, Text: text, Mentioned: true, At: time.Now()})
}

func (f *fakeChat) direct(user string) platforms.Origin {
	return platforms.Origin{
		Address: platforms.Address{Platform: f.name, Account: "a", Chat: user}, Kind: platforms.Direct,
		Sender: platforms.Person{ID: user, Name: user},
	}
}

// press lets somebody press the newest button of that label in his chat.
func (f *fakeChat) press(user, id, label string) bool {
	f.mu.Lock()
	var found *platforms.ButtonPressed
	for _, p := range f.posts {
		for _, b := range slices.Concat(p.out.Buttons...) {
			if p.to.Chat == user && b.Label == label {
				found = &platforms.ButtonPressed{Origin: f.direct(user), Native: id, MessageID: p.id, Data: b.Data}
			}
		}
	}
	f.mu.Unlock()
	if found != nil {
		f.deliver(found)
	}
	return found != nil
}

// count tells how many posts in a chat contain a text.
func (f *fakeChat) count(user, text string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, p := range f.posts {
		if p.to.Chat == user && strings.Contains(p.out.Text, text) {
			n++
		}
	}
	return n
}

// all returns what was posted.
func (f *fakeChat) all() []fakePost {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.posts)
}

func (f *fakeChat) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	for _, p := range f.posts {
		fmt.Fprintf(&b, "%s %s: %q %v\n", p.to.Chat, p.id, p.out.Text, p.out.Buttons)
	}
	return b.String()
}

// echoModel answers every turn with the names (m1, m2 ...) that stand in its messages. "tool" makes it call one first, "slow"
// take its time, "wonder" ask the person and say the answer, "ask" call one that needs permission, "parts" answer in three parts, "long" write a lot.
type echoModel struct {
	mu      sync.Mutex
	begun   time.Time
	calls   map[string]int           // by the newest user message
	prompts map[string]bool          // system prompts and tool declarations
	at      map[string]time.Duration // when the model first read a name
}

var messageName = regexp.MustCompile(`\bm\d+\b`)

func (m *echoModel) Name() string { return "echo" }

// since returns when the model was first asked about a message, counted from its beginning; 0 = never.
func (m *echoModel) since(name string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at[name]
}

func (m *echoModel) Call(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
	if err := loop.CheckLedger(req.Messages); err != nil {
		return loop.Reply{}, fmt.Errorf("ledger: %w", err)
	}
	newest, called := "", false // what was said since the last answer
	result := ""
	for _, msg := range req.Messages {
		switch {
		case msg.Role == sessions.RoleUser:
			newest += msg.Text + "\n"
		case msg.Role == sessions.RoleTool:
			called, result = true, msg.Text
		case len(msg.ToolCalls) == 0:
			newest, called = "", false
		}
	}
	m.mu.Lock()
	m.calls[newest]++
	m.prompts[req.System+string(req.Tools)] = true
	for _, name := range messageName.FindAllString(newest, -1) {
		if _, ok := m.at[name]; !ok {
			m.at[name] = time.Since(m.begun)
		}
	}
	m.mu.Unlock()
	names := strings.Join(messageName.FindAllString(newest, -1), " ")
	begun := ""
	if strings.Contains(newest, "slow") {
		begun = "re: " + names
		onText(begun)
		if err := wait(ctx, time.After(5*time.Second)); err != nil {
			return loop.Reply{}, err
		}
	}
	reply := loop.Reply{Finish: loop.FinishStop, Message: sessions.Message{Role: sessions.RoleAssistant}}
	call := func(name, arguments string) {
		reply.Finish = loop.FinishTools
		reply.Message.ToolCalls = []sessions.ToolCall{{ID: fmt.Sprint("call-", len(req.Messages)), Name: name, Arguments: arguments}}
	}
	switch {
	case called:
	case strings.Contains(newest, "tool"):
		call("sleep", `{"seconds": 3}`)
		return reply, nil
	case strings.Contains(newest, "wonder"):
		call("clarify", `{"question": "Which one?"}`)
		return reply, nil
	case strings.Contains(newest, "ask"):
		call("execute", `{}`)
		return reply, nil
	case strings.Contains(newest, "mark"):
		call("mark", fmt.Sprintf(`{"name": %q}`, names))
		return reply, nil
	}
	reply.Message.Text = "re: " + names + "."
	switch {
	case strings.Contains(newest, "wonder"):
		reply.Message.Text += " " + result
	case strings.Contains(newest, "parts"):
		reply.Message.Text += "\fpart two\fpart three"
	case strings.Contains(newest, "long"):
		reply.Message.Text += strings.Repeat("\n\nSome more words, so that this does not fit into one message.", 75) + "\n\nend: " + names + "."
	}
	onText(reply.Message.Text[len(begun):])
	return reply, nil
}

// asked returns the user messages that the model was called for.
func (m *echoModel) asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.calls))
}

// promptsSeen is how many different system prompts and tool declarations the model has read.
func (m *echoModel) promptsSeen() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.prompts)
}

// forget makes asked begin anew.
func (m *echoModel) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.calls)
}

// bench is a gateway over a fake platform inside a bubble.
type bench struct {
	t     *testing.T
	store sessions.Store
	chats []*fakeChat
	model *echoModel
	tools []tools.Tool // besides testTools
	cfg   gateway.Config
	log   *logBuffer

	connect func(*slog.Logger) (platforms.Adapter, error) // makes the adapter of a simulator; nil = there are only the chats
	counts  *counts
	erased  bool // the store does not have all that was counted any more
	gateway *gateway.Gateway

	cancel  context.CancelFunc
	running chan error
}

func newBench(t *testing.T, store sessions.Store, chats ...*fakeChat) *bench {
	t.Helper()
	b := &bench{t: t, store: store, chats: chats, log: &logBuffer{}, counts: newCounts()}
	b.model = &echoModel{
		begun: time.Now(), calls: map[string]int{}, prompts: map[string]bool{}, at: map[string]time.Duration{},
	}
	b.cfg = gateway.Config{
		Access: gateway.Access{Users: map[platforms.Name][]string{}}, Workers: 4, Busy: gateway.Queue,
		Window: 128_000, MaxOutput: 1000, CompressAt: 0.85, Progress: gateway.ProgressAll,
		EditEvery: time.Second, WorkRoot: t.TempDir(), Grace: 10 * time.Second,
	}
	for _, c := range chats {
		b.cfg.Access.Users[c.name] = []string{"alice", "bob"}
	}
	return b
}

func (b *bench) start() {
	b.t.Helper()
	log := slog.New(slog.NewTextHandler(io.Writer(b.log), &slog.HandlerOptions{Level: slog.LevelDebug}))
	all, err := testTools(new(atomic.Int64))
	if err != nil {
		b.t.Fatal(err)
	}
	registry, err := tools.NewRegistry(slices.Concat(all, b.tools)...)
	if err != nil {
		b.t.Fatal(err)
	}
	var adapters []platforms.Adapter
	for _, c := range b.chats {
		adapters = append(adapters, c)
	}
	if b.connect != nil {
		a, err := b.connect(log)
		if err != nil {
			b.t.Fatal(err)
		}
		adapters = append(adapters, a)
	}
	runner := &loop.Runner{
		Model: b.model, Policy: tools.AskByRisk{tools.Executes}, Compressor: loop.NewCompressor(b.model, b.cfg.Window, b.cfg.MaxOutput), Log: log,
	}
	g, err := gateway.New(b.cfg, gateway.Parts{
		Store: b.store, Adapters: adapters, Tools: registry, Compressor: runner, Log: log, Observe: b.counts.observe,
		Runner: runner,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.gateway = g
	ctx, cancel := context.WithCancel(b.t.Context())
	b.cancel, b.running = cancel, make(chan error, 1)
	go func() { b.running <- g.Run(ctx) }()
	synctest.Wait()
}

// stop ends the gateway, checks that its counts add up, and returns what Run returned.
func (b *bench) stop() error {
	if b.cancel == nil {
		return nil
	}
	b.cancel()
	b.cancel = nil
	err := <-b.running
	if !b.erased {
		b.counts.addUp(b.t, b.store)
	}
	return err
}

// check fails the test if anything was left without an outcome.
func (b *bench) check() {
	b.t.Helper()
	for item, err := range b.store.Pending(b.t.Context()) {
		b.t.Errorf("without an outcome: %s (%v)", item.ID, err)
	}
	for row, err := range b.store.Undelivered(b.t.Context()) {
		for i, p := range row.Parts {
			if p.State != sessions.InDoubt && !p.State.Final() {
				b.t.Errorf("not delivered: %s part %d, %s (%v)", row.ID, i, p.State, err)
			}
		}
	}
	if b.t.Failed() && len(b.chats) > 0 {
		b.t.Logf("posted:\n%s\nlog of the gateway:\n%s", b.chats[0], b.log)
	}
}
