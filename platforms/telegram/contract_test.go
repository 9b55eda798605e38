package telegram

import (
	"net/http"
	"testing"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/platformtest"
	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/memnet"
	simtelegram "github.com/talaria-agent/talaria/platforms/sim/telegram"
)

func TestContract(t *testing.T) {
	platformtest.Run(t, platformtest.Harness{New: func(t *testing.T) platformtest.Fixture {
		w := newWorld(t)
		return platformtest.Fixture{
			Stage: w.sim, Adapter: w.adapter,
			User: "100", Chat: "100", At: w.at("100", ""),
			Forbid: func() { w.sim.Block("100", true) },
			Fatal: func() {
				w.sim.Faults().Add(sim.Fault{Method: "getUpdates", Status: http.StatusUnauthorized, Times: -1})
			},
			Send: "sendMessage", Edit: "editMessageText",
		}
	}})
}

// world is a simulator with a few people and places, and an adapter on it that does not run yet.
type world struct {
	sim     *simtelegram.Server
	adapter *Adapter
	net     *memnet.Listener
}

// newWorld makes a world over an in-memory network, for use inside a bubble.
func newWorld(t *testing.T) *world {
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
	l := memnet.Listen()
	server := &http.Server{Handler: s.Handler()}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		_ = server.Close()
		<-served
	})
	return &world{sim: s, adapter: newAdapter(t, Config{Token: s.Token(), APIURL: "http://telegram.test", Dial: l.Dial}), net: l}
}

func newAdapter(t *testing.T, cfg Config) *Adapter {
	t.Helper()
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// at is a place of the world.
func (w *world) at(chat, thread string) platforms.Address {
	return platforms.Address{Platform: platforms.Telegram, Account: w.sim.BotID(), Chat: chat, Thread: thread}
}
