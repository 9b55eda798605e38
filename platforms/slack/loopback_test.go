package slack

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	simslack "github.com/talaria-agent/talaria/platforms/sim/slack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The same over real sockets, with two workspaces in one process that must not mix.
func TestOverLoopback(t *testing.T) {
	type side struct {
		sim     *simslack.Server
		adapter *Adapter
		got     chan platforms.Update
	}
	var sides []side
	for _, team := range []string{"T1", "T2"} {
		s := simslack.New(simslack.Config{Team: team, BotToken: "xoxb-" + team, AppToken: "xapp-" + team})
		s.AddUser(sim.User{ID: ada, Name: "Ada"})
		s.AddChat(sim.Chat{ID: dm, Kind: "dm", Members: []string{ada}})
		server := httptest.NewServer(s.Handler())
		a, err := New(Config{BotToken: "xoxb-" + team, AppToken: "xapp-" + team, APIURL: server.URL + "/api"})
		if err != nil {
			t.Fatal(err)
		}
		one := side{s, a, make(chan platforms.Update, 10)}
		sides = append(sides, one)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- a.Run(ctx, func(_ context.Context, u platforms.Update) (platforms.Receipt, error) {
				one.got <- u
				return platforms.Receipt{}, nil
			})
		}()
		t.Cleanup(func() {
			stop()
			if err := <-ended; err != nil {
				t.Errorf("Run returned %v", err)
			}
			a.http.CloseIdleConnections()
			s.Close()
			server.Close()
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	receive := func(s side) *platforms.Message {
		t.Helper()
		select {
		case u := <-s.got:
			return u.(*platforms.Message)
		case <-ctx.Done():
			t.Fatal("no message came")
			return nil
		}
	}
	for i, s := range sides {
		if _, err := s.sim.Say(sim.Say{User: ada, Chat: dm, Text: "hello " + string(rune('1'+i))}); err != nil {
			t.Fatal(err)
		}
		m := receive(s)
		if want := []string{"T1", "T2"}[i]; m.Address.Account != want || m.Text != "hello "+string(rune('1'+i)) {
			t.Errorf("workspace %s got %+v", want, m)
		}
		if _, err := s.adapter.Send(ctx, m.Address, platforms.Outgoing{Text: "hi"}); err != nil {
			t.Fatal(err)
		}
		if shown := s.sim.Visible(dm); len(shown) != 2 || shown[1].Visible != "hi" {
			t.Errorf("shown %+v", shown)
		}
	}
}
