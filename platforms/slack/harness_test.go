package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/memnet"
	simslack "github.com/talaria-agent/talaria/platforms/sim/slack"
)

// bench is an adapter connected to a simulated workspace, inside a bubble of virtual time.
type bench struct {
	t       *testing.T
	sim     *simslack.Server
	net     *memnet.Listener
	adapter *Adapter
	log     *strings.Builder
	sink    platforms.Sink // called before an update counts as taken; nil = take everything

	mu      sync.Mutex
	updates []platforms.Update
	stop    context.CancelFunc
	ended   chan error
}

const (
	ada   = "U0ADA"
	bob   = "U0BOB"
	dm    = "D0ADA"
	room  = "C0ROOM"
	crowd = "G0CROWD"
)

// inBubble runs a test with a bench whose adapter is connected; setup may change the bench before it connects.
func inBubble(t *testing.T, setup func(*bench), test func(*testing.T, *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, simslack.Config{})
		if setup != nil {
			setup(b)
		}
		b.start()
		synctest.Wait()
		test(t, b)
	})
}

func newBench(t *testing.T, cfg simslack.Config) *bench {
	t.Helper()
	b := &bench{t: t, sim: simslack.New(cfg), net: memnet.Listen(), log: &strings.Builder{}}
	for _, u := range []sim.User{{ID: ada, Name: "Ada"}, {ID: bob, Name: "Bob"}, {ID: "U0OTHERBOT", Name: "Robot", Bot: true}} {
		b.sim.AddUser(u)
	}
	b.sim.AddChat(sim.Chat{ID: dm, Kind: "dm", Members: []string{ada}})
	b.sim.AddChat(sim.Chat{ID: room, Kind: "channel", Title: "room"})
	b.sim.AddChat(sim.Chat{ID: crowd, Kind: "group", Title: "crowd"})
	if cfg.Scopes == "" { // so that every test shows that the manifest is enough
		b.install(NewManifest("Talaria"))
	}
	server := &http.Server{Handler: b.sim.Handler(), ErrorLog: nil}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(b.net)
	}()
	t.Cleanup(func() {
		b.halt()
		b.adapter.http.CloseIdleConnections()
		b.sim.Close()
		_ = server.Close()
		<-served
	})
	b.adapter = b.newAdapter()
	return b
}

// install makes the app what a manifest says.
func (b *bench) install(m Manifest) {
	b.t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := b.sim.Install(text); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) newAdapter() *Adapter {
	b.t.Helper()
	a, err := New(Config{
		BotToken: "xoxb-simulated", AppToken: "xapp-simulated", APIURL: "http://slack.test/api/",
		Dial: b.net.Dial,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// start runs the adapter.
func (b *bench) start() {
	ctx, stop := context.WithCancel(b.t.Context())
	b.stop, b.ended = stop, make(chan error, 1)
	ended := b.ended
	go func() { ended <- b.adapter.Run(ctx, b.take) }()
}

// halt ends Run and returns its error.
func (b *bench) halt() error {
	if b.stop == nil {
		return nil
	}
	b.stop()
	b.stop = nil
	return <-b.ended
}

func (b *bench) take(ctx context.Context, u platforms.Update) (platforms.Receipt, error) {
	b.mu.Lock()
	sink := b.sink
	b.mu.Unlock()
	var receipt platforms.Receipt
	if sink != nil {
		r, err := sink(ctx, u)
		if err != nil {
			return r, err
		}
		receipt = r
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.updates = append(b.updates, u)
	return receipt, nil
}

// got waits until everything has settled and returns the updates that were taken since the last call.
func (b *bench) got() []platforms.Update {
	b.t.Helper()
	time.Sleep(10 * time.Millisecond)
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	got := b.updates
	b.updates = nil
	return got
}

// message returns the one message that came, in as many copies as it likes.
func (b *bench) message() *platforms.Message {
	b.t.Helper()
	got := b.got()
	if len(got) == 0 {
		b.t.Fatal("no update came")
	}
	first, ok := got[0].(*platforms.Message)
	if !ok {
		b.t.Fatalf("got %T, want a message", got[0])
	}
	for _, u := range got[1:] {
		if u.NativeID() != first.Native {
			b.t.Fatalf("got %s and %s, want one message", first.Native, u.NativeID())
		}
	}
	return first
}

func (b *bench) say(s sim.Say) string {
	b.t.Helper()
	id, err := b.sim.Say(s)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

func (b *bench) post(to platforms.Address, out platforms.Outgoing) string {
	b.t.Helper()
	id, err := b.adapter.Send(b.t.Context(), to, out)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// last returns the newest message of a conversation.
func (b *bench) last(chat string) sim.Message {
	b.t.Helper()
	shown := b.sim.Visible(chat)
	if len(shown) == 0 {
		b.t.Fatalf("nothing to see in %s", chat)
	}
	return shown[len(shown)-1]
}

func in(chat, thread string) platforms.Address {
	return platforms.Address{Platform: platforms.Slack, Account: "T0SIM", Chat: chat, Thread: thread}
}

func wantClass(t *testing.T, err error, want platforms.Class) {
	t.Helper()
	var e *platforms.Error
	if !errors.As(err, &e) || e.Class != want {
		t.Fatalf("got error %v, want one of class %q", err, want)
	}
}
