//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	simdiscord "github.com/talaria-agent/talaria/platforms/sim/discord"
	simslack "github.com/talaria-agent/talaria/platforms/sim/slack"
	simtelegram "github.com/talaria-agent/talaria/platforms/sim/telegram"
)

// The secrets of these tests.
const (
	telegramToken = "7000000001:AA-" + canary + "-telegram"
	slackToken    = "xoxb-" + canary + "-slack-bot"
	slackAppToken = "xapp-" + canary + "-slack-app"
	discordToken  = canary + "-discord"
	modelKey      = canary + "-model-key"
)

var allPlatforms = []platforms.Name{platforms.Telegram, platforms.Slack, platforms.Discord}

// services are the three platforms, simulated, and a model: in the test's process on loopback sockets, so that they
// outlive the program under test.
type services struct {
	telegram *simtelegram.Server
	slack    *simslack.Server
	discord  *simdiscord.Server
	model    *demo.Scripted
	url      map[platforms.Name]string
	modelURL string
	seats    int
}

// seat is one person in a direct message with the bot.
type seat struct {
	platform   platforms.Name
	stage      sim.Stage
	user, chat string
}

// serveAll starts the services. There are so many people on each platform who may talk to the bot; before, if not nil,
// stands before a platform's server.
func serveAll(t *testing.T, seats int, answer func(demo.Request) demo.Response, before func(platforms.Name, http.Handler) http.Handler) *services {
	t.Helper()
	return serveThese(t, seats, answer, before, simtelegram.Options{}, simslack.Config{}, simdiscord.Options{})
}

// serveThese is serveAll with bots that differ from perfect ones.
func serveThese(t *testing.T, seats int, answer func(demo.Request) demo.Response, before func(platforms.Name, http.Handler) http.Handler, telegram simtelegram.Options, slack simslack.Config, discord simdiscord.Options) *services {
	t.Helper()
	telegram.Token, telegram.NoRateLimits = telegramToken, true
	slack.BotToken, slack.AppToken, slack.Unlimited = slackToken, slackAppToken, true
	discord.Token, discord.NoRateLimits = discordToken, true
	s := &services{
		telegram: simtelegram.New(telegram), slack: simslack.New(slack), discord: simdiscord.New(discord),
		model: demo.NewScripted(demo.Options{APIKey: modelKey, Delay: -1}, answer),
		url:   map[platforms.Name]string{}, seats: seats,
	}
	serve := func(h http.Handler) string {
		server := httptest.NewServer(h)
		t.Cleanup(func() {
			server.CloseClientConnections()
			server.Close()
		})
		return server.URL
	}
	for _, p := range allPlatforms {
		h := s.stage(p).Handler()
		if before != nil {
			h = before(p, h)
		}
		s.url[p] = serve(h)
		t.Cleanup(s.stage(p).Close)
		for n := range seats {
			seat := s.seat(p, n)
			seat.stage.AddUser(sim.User{ID: seat.user, Name: fmt.Sprintf("Person %d", n)})
			seat.stage.AddChat(sim.Chat{ID: seat.chat, Kind: "dm", Members: []string{seat.user}})
		}
	}
	s.modelURL = serve(s.model) + "/v1"
	return s
}

// obeying lets a model do what the probes of "talaria check" tell it, and answer everything else itself.
func obeying(answer func(demo.Request) demo.Response) func(demo.Request) demo.Response {
	return func(req demo.Request) demo.Response {
		if !req.Declares("note_down") {
			return answer(req)
		}
		text, at := req.LastUser()
		if at < len(req.Messages)-1 {
			return demo.Say("done")
		}
		var calls []demo.Call
		for i, told := range strings.Split(text, `"`) {
			if i%2 == 1 {
				calls = append(calls, demo.Call{Name: "note_down", Arguments: fmt.Sprintf(`{"text":%q}`, told)})
			}
		}
		return demo.Response{Calls: calls}
	}
}

func (s *services) stage(p platforms.Name) sim.Stage {
	switch p {
	case platforms.Telegram:
		return s.telegram
	case platforms.Slack:
		return s.slack
	default:
		return s.discord
	}
}

func (s *services) seat(p platforms.Name, n int) seat {
	w := seat{platform: p, stage: s.stage(p)}
	switch p {
	case platforms.Telegram:
		w.user = fmt.Sprint(1000 + n)
		w.chat = w.user
	case platforms.Slack:
		w.user, w.chat = fmt.Sprintf("U%04d", n), fmt.Sprintf("D%04d", n)
	default:
		w.user, w.chat = fmt.Sprintf("5000000000000%05d", n), fmt.Sprintf("6000000000000%05d", n)
	}
	return w
}

// say writes a message as the person of that seat.
func (w seat) say(t *testing.T, text string) {
	t.Helper()
	if _, err := w.stage.Say(sim.Say{User: w.user, Chat: w.chat, Text: text}); err != nil {
		t.Fatal(err)
	}
}

// sayAgain takes back what nobody has heard, which might be read back much later, and writes it once more.
func (w seat) sayAgain(t *testing.T, text string) {
	t.Helper()
	for _, m := range w.stage.Visible(w.chat) {
		if m.User != w.user || m.Visible != text {
			continue
		}
		if err := w.stage.DeleteAs(w.user, w.chat, m.ID); err != nil {
			t.Fatal(err)
		}
	}
	w.say(t, text)
}

// count tells how many of the bot's messages in the chat contain a text.
func (w seat) count(text string) (n int) {
	for _, m := range w.stage.Visible(w.chat) {
		if m.User == sim.Bot && strings.Contains(m.Visible, text) {
			n++
		}
	}
	return n
}

// sees waits until the bot has said something.
func (w seat) sees(t *testing.T, text string) {
	t.Helper()
	await(t, fmt.Sprintf("%s shows %q in %s", w.platform, text, w.chat), w.stage.Changed, func() bool { return w.count(text) > 0 })
}

// config writes a config file that leads to the services; more is TOML to be added. A replacement, of pairs old and
// new, changes the text at the end.
func (s *services) config(t *testing.T, data, more string, replace ...string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "data_dir = %q\n[model]\nbase_url = %q\napi_key = %q\nname = \"scripted\"\nwindow = 100000\n", data, s.modelURL, modelKey)
	fmt.Fprintf(&b, "[platforms.telegram]\ntoken = %q\napi_url = %q\n", telegramToken, s.url[platforms.Telegram])
	fmt.Fprintf(&b, "[platforms.slack]\nbot_token = %q\napp_token = %q\napi_url = \"%s/api/\"\n", slackToken, slackAppToken, s.url[platforms.Slack])
	fmt.Fprintf(&b, "[platforms.discord]\ntoken = %q\napi_url = %q\n", discordToken, s.url[platforms.Discord])
	for _, p := range allPlatforms {
		fmt.Fprintf(&b, "[access.%s]\nusers = [", p)
		for n := range s.seats {
			fmt.Fprintf(&b, "%q, ", s.seat(p, n).user)
		}
		b.WriteString("]\n")
	}
	b.WriteString("[log]\nlevel = \"debug\"\n")
	if !strings.Contains(more, "[gateway]") {
		b.WriteString("[gateway]\ncrash_pause = \"0s\"\n") // the tests kill it more often than a crash loop would
	}
	b.WriteString(more)
	path := filepath.Join(t.TempDir(), "config.toml")
	text := strings.NewReplacer(replace...).Replace(b.String())
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
