package telegram

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/memnet"
	simtelegram "github.com/talaria-agent/talaria/platforms/sim/telegram"
)

// checkedWorld serves a simulator with options and returns it with an adapter, in a bubble.
func checkedWorld(t *testing.T, opts simtelegram.Options) (*simtelegram.Server, func() *Adapter) {
	t.Helper()
	s, l := simtelegram.New(opts), memnet.Listen()
	s.AddUser(sim.User{ID: "100", Name: "ada"})
	s.AddChat(sim.Chat{ID: "100", Kind: "dm"})
	s.AddChat(sim.Chat{ID: "-500", Kind: "group", Title: "Lovelace"})
	server := &http.Server{Handler: s.Handler()}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		_ = server.Close()
		<-served
	})
	return s, func() *Adapter {
		return newAdapter(t, Config{Token: s.Token(), APIURL: "http://telegram.test", Dial: l.Dial})
	}
}

func TestCheckSaysWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		opts  simtelegram.Options
		want  string
		minor bool
	}{
		"nothing":      {},
		"privacy mode": {simtelegram.Options{Privacy: true}, "/setprivacy", true},
		"no groups":    {simtelegram.Options{NoGroups: true}, "/setjoingroups", true},
		"a webhook":    {simtelegram.Options{Webhook: "https://bot.example/hidden-path"}, "a webhook is set (bot.example)", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, adapter := checkedWorld(t, test.opts)
				c, err := adapter().Check(t.Context(), 10*time.Second)
				if err != nil || !strings.Contains(c.Who, "@talaria_bot") || c.Link != "https://t.me/talaria_bot" {
					t.Fatalf("the bot is %+v, %v", c, err)
				}
				if (test.want == "") != (len(c.Problems) == 0) {
					t.Fatalf("the problems are %+v", c.Problems)
				}
				for _, p := range c.Problems {
					if !strings.Contains(p.What+p.Cure, test.want) || p.Cure == "" || p.Minor != test.minor || strings.Contains(p.What, "hidden") {
						t.Errorf("the problem is %+v", p)
					}
				}
			})
		})
	}
}

// TestCheckFindsARival: another program that polls ends the poll of the check, and loses no update by it.
func TestCheckFindsARival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, adapter := checkedWorld(t, simtelegram.Options{})
		rival := adapter()
		ctx, stop := context.WithCancel(t.Context())
		heard := make(chan string, 1)
		done := make(chan error, 1)
		go func() {
			done <- rival.Run(ctx, func(_ context.Context, u platforms.Update) (platforms.Receipt, error) {
				heard <- u.NativeID()
				return platforms.Receipt{}, nil
			})
		}()
		synctest.Wait()
		c, err := adapter().Check(t.Context(), 10*time.Second)
		if err != nil || len(c.Problems) != 1 || !strings.Contains(c.Problems[0].What, "another program") {
			t.Errorf("the check finds %+v, %v", c.Problems, err)
		}
		if _, err := s.Say(sim.Say{User: "100", Chat: "100", Text: "x"}); err != nil {
			t.Fatal(err)
		}
		<-heard
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if c, err := adapter().Check(t.Context(), 10*time.Second); err != nil || len(c.Problems) != 0 {
			t.Errorf("without it the check finds %+v, %v", c.Problems, err)
		}
	})
}

// TestPrivacyMode: of a group the bot hears what is meant for it alone.
func TestPrivacyMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, adapter := checkedWorld(t, simtelegram.Options{Privacy: true})
		a := adapter()
		ctx, stop := context.WithCancel(t.Context())
		var got []string
		done := make(chan error, 1)
		go func() {
			done <- a.Run(ctx, func(_ context.Context, u platforms.Update) (platforms.Receipt, error) {
				if m, ok := u.(*platforms.Message); ok {
					got = append(got, m.Text)
				}
				return platforms.Receipt{}, nil
			})
		}()
		for _, say := range []sim.Say{{Text: "among us"}, {Text: "you there?", Mention: true}, {Text: "/status"}} {
			say.User, say.Chat = "100", "-500"
			if _, err := s.Say(say); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if strings.Join(got, "|") != "you there?|/status" {
			t.Errorf("heard %q", got)
		}
	})
}
