package slack

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

func TestReconnects(t *testing.T) {
	for _, reason := range []string{"warning", "refresh_requested", "too_many_websockets", "something new"} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, b *bench) {
				time.Sleep(time.Hour)
				b.sim.Disconnect(reason)
				b.say(sim.Say{User: ada, Chat: dm, Text: "said in between"})
				start := time.Now()
				for b.sim.Connections() == 0 {
					time.Sleep(time.Second)
				}
				if away := time.Since(start); reason == "too_many_websockets" && away < crowdWait || away > 2*crowdWait {
					t.Errorf("back after %v", away)
				}
				if m := b.message(); m.Text != "said in between" {
					t.Errorf("got %+v", m)
				}
			})
		})
	}
}

func TestLostConnectionComesBackAtOnce(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		time.Sleep(time.Hour)
		b.sim.Drop()
		b.say(sim.Say{User: ada, Chat: dm, Text: "still there?"})
		if m := b.message(); m.Text != "still there?" {
			t.Errorf("got %+v", m)
		}
	})
}

// Connections that die young must not become a storm: opening one is what Slack limits most.
func TestShortLivedConnectionsBackOff(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		for range 3600 {
			time.Sleep(time.Second)
			b.sim.Drop()
		}
		if n := b.sim.Opened(); n < 30 || n > 130 {
			t.Errorf("%d connections in an hour", n)
		}
		time.Sleep(2 * time.Minute)
		b.say(sim.Say{User: ada, Chat: dm, Text: "over?"})
		if m := b.message(); m.Text != "over?" {
			t.Errorf("got %+v", m)
		}
	})
}

func TestSwitchedOffFromTheStartIsFatal(t *testing.T) {
	inBubble(t, func(b *bench) { b.sim.Disconnect("link_disabled") }, func(t *testing.T, b *bench) {
		time.Sleep(time.Second)
		wantClass(t, <-b.ended, platforms.Fatal)
		b.stop()
		b.stop = nil
		if n := b.sim.Opened(); n != 1 {
			t.Errorf("%d connections were tried", n)
		}
	})
}

func TestSwitchedOffIsFatal(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		b.sim.Disconnect("link_disabled")
		time.Sleep(time.Minute)
		synctest.Wait()
		select {
		case err := <-b.ended:
			wantClass(t, err, platforms.Fatal)
			b.stop()
			b.stop = nil
		default:
			t.Error("still running")
		}
	})
}

func TestBadTokensAreFatal(t *testing.T) {
	for method, c := range map[string]struct{ code, cure string }{
		"auth.test":             {"invalid_auth", "the bot token is refused; install the app"},
		"apps.connections.open": {"not_allowed_token_type", "the app-level token is refused; make one"},
	} {
		inBubble(t, func(b *bench) {
			b.sim.Faults().Add(sim.Fault{Method: method, Error: c.code, Times: -1})
		}, func(t *testing.T, b *bench) {
			time.Sleep(time.Second)
			err := <-b.ended
			wantClass(t, err, platforms.Fatal)
			if !strings.Contains(err.Error(), c.cure) {
				t.Errorf("no cure in %q", err)
			}
			b.stop()
			b.stop = nil
		})
	}
}

func TestStartsWhenSlackComesBack(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.sim.Faults().Add(sim.Fault{Method: "auth.test", Status: 500, Times: 3})
		b.sim.Faults().Add(sim.Fault{Method: "apps.connections.open", Cut: true, Times: 3})
		b.sim.Faults().Add(sim.Fault{Method: "apps.connections.open", Status: 429, RetryAfter: 40 * time.Second})
	}, func(t *testing.T, b *bench) {
		time.Sleep(5 * time.Minute)
		b.say(sim.Say{User: ada, Chat: dm, Text: "finally"})
		if m := b.message(); m.Text != "finally" {
			t.Errorf("got %+v", m)
		}
	})
}

func TestDeafConnectionIsRebuilt(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		time.Sleep(time.Minute)
		b.sim.Deafen()
		b.say(sim.Say{User: ada, Chat: dm, Text: "hello?"})
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if m := b.message(); m.Text != "hello?" {
			t.Errorf("got %+v", m)
		}
		if quiet := time.Since(b.adapter.LastAlive()); quiet > time.Minute {
			t.Errorf("no sign of life for %v", quiet)
		}
	})
}

func TestQuietConnectionStays(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		time.Sleep(6 * time.Hour)
		if got := len(b.sim.Log()); got != 0 {
			t.Errorf("%d events", got)
		}
		if opened := b.sim.Opened(); opened != 1 {
			t.Errorf("%d connections were opened in six quiet hours", opened)
		}
	})
}

func TestShutdownLeavesUndeliveredEventsToSlack(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.sink = func(ctx context.Context, _ platforms.Update) (platforms.Receipt, error) {
			return platforms.Receipt{}, errors.New("no")
		}
	}, func(t *testing.T, b *bench) {
		b.say(sim.Say{User: ada, Chat: dm, Text: "keep this"})
		time.Sleep(time.Second)
		if err := b.halt(); err != nil {
			t.Errorf("Run returned %v", err)
		}
		b.mu.Lock()
		b.sink = nil
		b.mu.Unlock()
		b.adapter = b.newAdapter()
		b.start()
		time.Sleep(10 * time.Second)
		if m := b.message(); m.Text != "keep this" {
			t.Errorf("got %+v", m)
		}
	})
}

func TestSecretsStayOutOfErrorsAndLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a, err := New(Config{
			BotToken: "xoxb-SECRET-1", AppToken: "xapp-SECRET-2", APIURL: "http://slack.test/api",
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, errors.New("cannot dial with token=xoxb-SECRET-1 or xapp-SECRET-2")
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
		defer stop()
		if err := a.Run(ctx, nil); err != nil {
			t.Errorf("Run returned %v", err)
		}
		_, sendErr := a.Send(t.Context(), in(dm, ""), platforms.Outgoing{Text: "x"})
		wantClass(t, sendErr, platforms.Transient)
		_, checkErr := a.Check(t.Context(), 0)
		all := log.String() + sendErr.Error() + checkErr.Error()
		if strings.Contains(all, "SECRET") || !strings.Contains(all, "cannot dial") {
			t.Errorf("secrets in: %s", all)
		}
	})
}

func TestNewRefusesBadTokens(t *testing.T) {
	for _, cfg := range []Config{{}, {BotToken: "xoxb-1"}, {AppToken: "xapp-1"}, {BotToken: "xapp-1", AppToken: "xoxb-1"}} {
		if _, err := New(cfg); err == nil || strings.Contains(err.Error(), "-1") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
