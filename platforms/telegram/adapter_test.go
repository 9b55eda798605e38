package telegram

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	simtelegram "github.com/talaria-agent/talaria/platforms/sim/telegram"
)

func TestNewRefuses(t *testing.T) {
	for _, cfg := range []Config{
		{},
		{Token: "no colon"},
		{Token: "abc:def"},
		{Token: "1:has space "},
		{Token: "1:x", APIURL: "api.telegram.org"},
		{Token: "1:x", APIURL: "http://a/%s"},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		} else if cfg.Token != "" && strings.Contains(err.Error(), cfg.Token) {
			t.Errorf("the error shows the token: %v", err)
		}
	}
}

// TestNoSecretInErrorsOrLogs lets everything fail in the ways in which net/http puts the URL, and so the token, into
// the error.
func TestNoSecretInErrorsOrLogs(t *testing.T) {
	for name, spoil := range map[string]func(*world){
		"failing dial": func(w *world) {
			w.adapter.api.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
				return nil, errors.New("no route to " + w.sim.Token())
			}
		},
		"cut":          func(w *world) { w.sim.Faults().Add(sim.Fault{Cut: true, Times: -1}) },
		"silence":      func(w *world) { w.sim.Faults().Add(sim.Fault{Delay: time.Hour, Times: -1}) },
		"HTML page":    func(w *world) { w.sim.Faults().Add(sim.Fault{Status: 502, HTML: true, Times: -1}) },
		"unauthorised": func(w *world) { w.sim.Faults().Add(sim.Fault{Method: "sendMessage", Status: 401, Times: -1}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				spoil(w)
				w.run(t)
				_, err := w.adapter.Send(t.Context(), w.at("100", ""), platforms.Outgoing{Text: "x"})
				_, failed := w.adapter.Check(t.Context(), 0)
				time.Sleep(5 * time.Minute)
				_, secret, _ := strings.Cut(w.sim.Token(), ":")
				said := fmt.Sprintf("%v %+v %#v %v\n%s", err, err, err, failed, w.log)
				if err == nil || strings.Contains(said, secret) {
					t.Errorf("the token shows, or nothing failed:\n%s", said)
				}
			})
		})
	}
}

// TestErrorClasses holds what each answer of Telegram means, for a message, which must not be repeated blindly, and
// for an edit, which may be.
func TestErrorClasses(t *testing.T) {
	for _, c := range []struct {
		fault      sim.Fault
		send, edit platforms.Class
	}{
		{sim.Fault{Status: 400, Error: "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 1"}, platforms.BadFormat, platforms.BadFormat},
		{sim.Fault{Status: 400, Error: "Bad Request: message is too long"}, platforms.TooLong, platforms.TooLong},
		{sim.Fault{Status: 400, Error: "Bad Request: MESSAGE_TOO_LONG"}, platforms.TooLong, platforms.TooLong},
		{sim.Fault{Status: 400, Error: "Bad Request: message thread not found"}, platforms.Gone, platforms.Gone},
		{sim.Fault{Status: 400, Error: "Bad Request: chat not found"}, platforms.Gone, platforms.Gone},
		{sim.Fault{Status: 400, Error: "Bad Request: message can't be edited"}, platforms.Gone, platforms.Gone},
		{sim.Fault{Status: 400, Error: "Bad Request: not enough rights to send text messages to the chat"}, platforms.Forbidden, platforms.Forbidden},
		{sim.Fault{Status: 400, Error: "Bad Request: TOPIC_CLOSED"}, platforms.Forbidden, platforms.Forbidden},
		{sim.Fault{Status: 400, Error: "Bad Request: BUTTON_DATA_INVALID"}, platforms.Invalid, platforms.Invalid},
		{sim.Fault{Status: 403, Error: "Forbidden: user is deactivated"}, platforms.Forbidden, platforms.Forbidden},
		{sim.Fault{Status: 401, Error: "Unauthorized"}, platforms.Fatal, platforms.Fatal},
		{sim.Fault{Status: 404, Error: "Not Found: method not found"}, platforms.Invalid, platforms.Invalid},
		{sim.Fault{Status: 413, Error: "Request Entity Too Large"}, platforms.TooLong, platforms.TooLong},
		{sim.Fault{Status: 429, RetryAfter: time.Second}, platforms.RateLimited, platforms.RateLimited},
		{sim.Fault{Status: 429, HTML: true}, platforms.RateLimited, platforms.RateLimited},
		{sim.Fault{Status: 500, Error: "Internal Server Error"}, platforms.Transient, platforms.Transient},
		{sim.Fault{Status: 500, Error: "Internal Server Error: restart"}, platforms.OutcomeUnknown, platforms.Transient},
		{sim.Fault{Status: 502, HTML: true}, platforms.OutcomeUnknown, platforms.Transient},
		{sim.Fault{Status: 503, HTML: true}, platforms.Transient, platforms.Transient},
		{sim.Fault{Status: 504, HTML: true}, platforms.OutcomeUnknown, platforms.Transient},
		{sim.Fault{Status: 302, HTML: true}, platforms.Invalid, platforms.Invalid},
		{sim.Fault{Cut: true}, platforms.OutcomeUnknown, platforms.Transient},
		{sim.Fault{Lose: true}, platforms.OutcomeUnknown, platforms.Transient},
		{sim.Fault{Delay: time.Hour}, platforms.OutcomeUnknown, platforms.Transient},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.run(t)
			at, out := w.at("100", ""), platforms.Outgoing{Text: "x"}
			id, err := w.adapter.Send(t.Context(), at, out)
			if err != nil {
				t.Fatal(err)
			}
			w.sim.Faults().Add(withMethod(c.fault, "sendMessage"))
			if _, err = w.adapter.Send(t.Context(), at, out); platforms.ClassOf(err) != c.send {
				t.Errorf("send with %+v: %v, want class %q", c.fault, err, c.send)
			}
			time.Sleep(10 * time.Second)
			w.sim.Faults().Clear()
			w.sim.Faults().Add(withMethod(c.fault, "editMessageText"))
			err = w.adapter.Edit(t.Context(), at, id, platforms.Outgoing{Text: "y"})
			if platforms.ClassOf(err) != c.edit {
				t.Errorf("edit with %+v: %v, want class %q", c.fault, err, c.edit)
			}
		})
	}
}

func withMethod(f sim.Fault, method string) sim.Fault {
	f.Method = method
	return f
}

func TestMigratedGroupNamesItsSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(t)
		if err := w.sim.Migrate("-500", "-1005000"); err != nil {
			t.Fatal(err)
		}
		_, err := w.adapter.Send(t.Context(), w.at("-500", ""), platforms.Outgoing{Text: "x"})
		var e *platforms.Error
		if !errors.As(err, &e) || e.Class != platforms.Gone || e.To != "-1005000" {
			t.Fatalf("message to a migrated group: %v", err)
		}
		if _, err := w.adapter.Send(t.Context(), w.at(e.To, ""), platforms.Outgoing{Text: "x"}); err != nil {
			t.Error(err)
		}
		got := w.updates(time.Minute)
		if len(got) != 2 || got[0].NativeID() != got[1].NativeID() {
			t.Fatalf("the two service messages gave %v", got)
		}
		if m, ok := got[0].(*platforms.ChatMigrated); !ok || m.From != w.at("-500", "") || m.To != "-1005000" {
			t.Errorf("migration is %+v", got[0])
		}
	})
}

func TestForum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(t)
		for _, thread := range []string{"general", "7"} {
			asked, err := w.sim.Say(sim.Say{User: "100", Chat: "-1002000", Thread: thread, Text: "hello", Mention: true})
			if err != nil {
				t.Fatal(err)
			}
			got := w.updates(2 * time.Second)
			m := got[len(got)-1].(*platforms.Message)
			if m.Address != w.at("-1002000", thread) || m.Kind != platforms.Topic || !m.Mentioned || m.Text != "hello" || m.Quoted != nil {
				t.Errorf("message in topic %s is %+v", thread, m)
			}
			if err := w.adapter.Typing(t.Context(), m.Address); err != nil {
				t.Error(err)
			}
			if !w.sim.Typing("-1002000", thread) {
				t.Errorf("typing does not show in topic %s", thread)
			}
			if _, err := w.adapter.Send(t.Context(), m.Address, platforms.Outgoing{Text: "answer", ReplyTo: asked}); err != nil {
				t.Fatal(err)
			}
			all := w.sim.Visible("-1002000")
			if last := all[len(all)-1]; last.Thread != thread || last.ReplyTo != asked || last.User != sim.Bot {
				t.Errorf("the answer in topic %s is %+v", thread, last)
			}
		}
		// A reply in General carries a thread id that is no topic: the answer must not use it.
		root := w.sim.Visible("-1002000")[0].ID
		if _, err := w.sim.Say(sim.Say{User: "100", Chat: "-1002000", Text: "@talaria_bot and now?", ReplyTo: root}); err != nil {
			t.Fatal(err)
		}
		got := w.updates(2 * time.Second)
		m := got[len(got)-1].(*platforms.Message)
		if _, err := w.adapter.Send(t.Context(), m.Address, platforms.Outgoing{Text: "x"}); m.Address.Thread != "general" || err != nil {
			t.Errorf("answer to a reply in General (%+v): %v", m.Address, err)
		}
	})
}

func TestReplyToAVanishedMessageIsSentAnyway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(t)
		if _, err := w.adapter.Send(t.Context(), w.at("-500", ""), platforms.Outgoing{Text: "x", ReplyTo: "999", Silent: true}); err != nil {
			t.Fatal(err)
		}
		if m := w.sim.Visible("-500")[0]; m.ReplyTo != "" || !m.Silent {
			t.Errorf("message is %+v", m)
		}
	})
}

func TestReactAndCommandsAndCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(t)
		id, err := w.sim.Say(sim.Say{User: "100", Chat: "100", Text: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.adapter.React(t.Context(), w.at("100", ""), id, "👀"); err != nil {
			t.Fatal(err)
		}
		if m := w.sim.Visible("100")[0]; len(m.Reactions) != 1 || m.Reactions[0] != "👀" {
			t.Errorf("reactions are %v", m.Reactions)
		}
		if err := w.adapter.React(t.Context(), w.at("100", ""), id, ""); err != nil || len(w.sim.Visible("100")[0].Reactions) != 0 {
			t.Errorf("the reaction was not removed: %v", err)
		}
		menu := []platforms.Command{{Name: "new", Description: "Start afresh"}, {Name: "stop", Description: "Stop the work"}}
		if err := w.adapter.RegisterCommands(t.Context(), menu); err != nil {
			t.Fatal(err)
		}
		want := []simtelegram.Command{{Command: "new", Description: "Start afresh"}, {Command: "stop", Description: "Stop the work"}}
		if diff := cmp.Diff(want, w.sim.Commands()); diff != "" {
			t.Error(diff)
		}
		who, err := w.adapter.Check(t.Context(), 0)
		if err != nil || who.Who != "@talaria_bot (Talaria, id 7000000001)" {
			t.Errorf("Check says %+v, %v", who, err)
		}
	})
}

// TestPaceStaysWithinTheLimits floods a chat, a group and many chats; the simulator, which counts as Telegram does,
// must never have to refuse.
func TestPaceStaysWithinTheLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(t)
		places := map[platforms.Address]int{w.at("100", ""): 15, w.at("-500", ""): 15, w.at("-1001000", ""): 15}
		for i := range 60 {
			id := fmt.Sprint(1000 + i)
			w.sim.AddUser(sim.User{ID: id})
			w.sim.AddChat(sim.Chat{ID: id, Kind: "dm"})
			places[w.at(id, "")] = 3
		}
		failed := make(chan error)
		for at, messages := range places {
			go func() { failed <- flood(t.Context(), w.adapter, at, messages) }()
		}
		for range places {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
	})
}

// flood sends and edits as fast as the adapter allows.
func flood(ctx context.Context, a *Adapter, at platforms.Address, messages int) error {
	for i := range messages {
		id, err := a.Send(ctx, at, platforms.Outgoing{Text: fmt.Sprint("message ", i)})
		if err != nil {
			return err
		}
		if err := a.Edit(ctx, at, id, platforms.Outgoing{Text: fmt.Sprint("edited ", i)}); err != nil {
			return err
		}
	}
	return nil
}

// TestOverLoopback is the one test over real sockets.
func TestOverLoopback(t *testing.T) {
	s := newSim(t)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s.Handler()}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	a := newAdapter(t, Config{Token: s.Token(), APIURL: "http://" + l.Addr().String()})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	arrived := make(chan platforms.Update, 1)
	go func() {
		ended <- a.Run(ctx, func(_ context.Context, u platforms.Update) (platforms.Receipt, error) {
			arrived <- u
			return platforms.Receipt{}, nil
		})
	}()
	if _, err := s.Say(sim.Say{User: "100", Chat: "100", Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	m := (<-arrived).(*platforms.Message)
	if _, err := a.Send(t.Context(), m.Address, platforms.Outgoing{Text: "**hi**"}); err != nil {
		t.Fatal(err)
	}
	if shown := s.Visible("100"); len(shown) != 2 || shown[1].HTML != "<b>hi</b>" {
		t.Errorf("the chat shows %+v", shown)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.Close()
	_ = server.Close()
	<-served
}
