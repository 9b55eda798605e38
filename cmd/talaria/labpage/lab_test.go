package labpage_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/cmd/talaria/labpage"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

const token = "open-sesame"

// lab is a page with three stages, served on loopback.
type lab struct {
	telegram, slack, discord *stage
	addr                     string
	end                      func() // stops serving, as at the end of the test
}

func (l *lab) url() string { return "http://" + l.addr + "/?token=" + token }

func (l *lab) config() labpage.Config {
	people := []labpage.User{
		{User: sim.User{ID: "1", Name: "Ada"}},
		{User: sim.User{ID: "9", Name: "Mallory"}, Stranger: true},
	}
	everyone := []string{"1", "9"}
	dm := func(id, user string) labpage.Chat {
		return labpage.Chat{Chat: sim.Chat{ID: id, Kind: "dm", Title: "Talaria", Members: []string{user}}}
	}
	room := func(id, kind, title string) labpage.Chat {
		return labpage.Chat{Chat: sim.Chat{ID: id, Kind: kind, Title: title, Members: everyone}}
	}
	commands := []platforms.Command{
		{Name: "status", Description: "How things are"},
		{Name: "queue", Description: "Do this later", Argument: "text"},
	}
	return labpage.Config{
		Listen: l.addr, Token: token, Suggestions: []string{"list files", "explore"}, Hint: "Try something.",
		Panes: []labpage.Pane{
			{
				Platform: platforms.Telegram, Title: "Telegram", Bot: "Talaria", Stage: l.telegram, Users: people,
				Chats: []labpage.Chat{dm("t1", "1"), dm("t9", "9"), room("tg", "group", "Hikers")}, Commands: commands,
			},
			{
				Platform: platforms.Slack, Title: "Slack", Bot: "Talaria", Stage: l.slack, Users: people,
				Chats: []labpage.Chat{room("sc", "channel", "general"), dm("s1", "1"), dm("s9", "9")},
			},
			{
				Platform: platforms.Discord, Title: "Discord", Bot: "Talaria", Stage: l.discord, Users: people,
				Chats:    []labpage.Chat{room("dc", "channel", "general"), dm("d1", "1"), dm("d9", "9")},
				Commands: commands,
			},
		},
	}
}

// newLab serves a lab until the test ends. Its streams end before it is closed.
func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{telegram: newStage(), slack: newStage(), discord: newStage()}
	srv := httptest.NewUnstartedServer(nil)
	l.addr = srv.Listener.Addr().String()
	srv.Config.Handler = labpage.New(l.config())
	ctx, cancel := context.WithCancel(context.Background())
	srv.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	srv.Start()
	l.end = sync.OnceFunc(func() {
		cancel()
		srv.Close()
	})
	t.Cleanup(l.end)
	return l
}

// expect waits for what a person's deed should cause at a stage.
func expect(t *testing.T, s *stage, want string) {
	t.Helper()
	select {
	case got := <-s.did:
		if got != want {
			t.Fatalf("the stage saw %s\nwant          %s", got, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("the stage never saw %s", want)
	}
}

// serve answers one request without a network.
func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
