package telegram

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/memnet"
	simtelegram "github.com/talaria-agent/talaria/platforms/sim/telegram"
)

// world is a simulator with a few people and places, and an adapter on it that does not run yet.
type world struct {
	sim     *simtelegram.Server
	adapter *Adapter
	net     *memnet.Listener
	log     *logBuffer

	mu  sync.Mutex
	got []platforms.Update
}

// newWorld makes a world over an in-memory network, for use inside a bubble.
func newWorld(t *testing.T) *world {
	t.Helper()
	s := newSim(t)
	l := memnet.Listen()
	server := &http.Server{Handler: s.Handler()}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		_ = server.Close()
		<-served
	})
	w := &world{sim: s, net: l, log: &logBuffer{}}
	w.adapter = newAdapter(t, Config{
		Token: s.Token(), APIURL: "http://telegram.test", Dial: l.Dial,
		Log: slog.New(slog.NewTextHandler(w.log, nil)),
	})
	return w
}

// newSim makes a simulator that, if TALARIA_SPECS names a folder with the official description, checks every request
// against it.
func newSim(t *testing.T) *simtelegram.Server {
	t.Helper()
	s := simtelegram.New(simtelegram.Options{})
	for _, u := range []sim.User{{ID: "100", Name: "ada"}, {ID: "200", Name: "bob"}, {ID: "300", Name: "otherbot", Bot: true}} {
		s.AddUser(u)
	}
	for _, c := range []sim.Chat{
		{ID: "100", Kind: "dm"},
		{ID: "-500", Kind: "group", Title: "Lovelace"},
		{ID: "-1001000", Kind: "group", Title: "Super"},
		{ID: "-1002000", Kind: "forum", Title: "Forum"},
	} {
		s.AddChat(c)
	}
	folder := os.Getenv("TALARIA_SPECS")
	if folder == "" {
		return s
	}
	data, err := os.ReadFile(folder + "/telegram-bot-api.json")
	if err != nil {
		t.Fatal(err)
	}
	official, err := simtelegram.ReadDescription(data)
	if err != nil {
		t.Fatal(err)
	}
	s.CheckAgainst(official)
	t.Cleanup(func() {
		for _, v := range s.Violations() {
			t.Errorf("against %s: %s", official.Source, v)
		}
	})
	return s
}

func newAdapter(t *testing.T, cfg Config) *Adapter {
	t.Helper()
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// run starts the adapter with a sink that keeps everything, until the test ends or stop is called.
func (w *world) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- w.adapter.Run(ctx, func(_ context.Context, u platforms.Update) (platforms.Receipt, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.got = append(w.got, u)
			return platforms.Receipt{}, nil
		})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// updates returns what has arrived after a virtual while.
func (w *world) updates(wait time.Duration) []platforms.Update {
	time.Sleep(wait)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]platforms.Update(nil), w.got...)
}

// at is a place of the world.
func (w *world) at(chat, thread string) platforms.Address {
	return platforms.Address{Platform: platforms.Telegram, Account: w.sim.BotID(), Chat: chat, Thread: thread}
}

// logBuffer collects log lines from any goroutine.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
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
