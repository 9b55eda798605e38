//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/platforms"
)

// namesIn returns what is in a folder.
func namesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// answers is somebody who answers the wizard's questions, one after the other, and breaks off at the end.
type answers struct {
	t    *testing.T
	list []string
	seen []string // the questions
}

func (a *answers) next(title string) (string, error) {
	a.seen = append(a.seen, title)
	if len(a.list) == 0 {
		return "", errNothingWritten
	}
	answer := a.list[0]
	a.list = a.list[1:]
	return answer, nil
}

func (a *answers) choose(title, _ string, options []option) (string, error) {
	answer, err := a.next(title)
	if err == nil && !slices.ContainsFunc(options, func(o option) bool { return o.value == answer }) {
		a.t.Errorf("%s: %q is no option of %v", title, answer, options)
	}
	return answer, err
}

func (a *answers) several(title, _ string, _ []option, _ []string) ([]string, error) {
	answer, err := a.next(title)
	return strings.Fields(answer), err
}

func (a *answers) text(title, _, _ string) (string, error) { return a.next(title) }
func (a *answers) secret(title, _ string) (string, error)  { return a.next(title) }

func (a *answers) yes(title, _ string) (bool, error) {
	answer, err := a.next(title)
	return answer == "yes", err
}

// TestWizard: somebody who mistypes a token, finds out his id and chooses a model; and whoever breaks off at any question
// leaves nothing behind.
func TestWizard(t *testing.T) {
	t.Parallel()
	s := serveAll(t, 1, obeying(echo), nil)
	alice := s.seat(platforms.Telegram, 0)
	all := []string{"telegram", "7000000001:BB-" + canary + "-wrong", telegramToken, "yes", "", modelKey + "-wrong", "yes", modelKey, demo.ModelName}
	for n := range len(all) + 1 {
		folder := t.TempDir()
		a := &answers{t: t, list: slices.Clone(all[:n])}
		out := &transcript{changed: make(chan struct{})}
		w := &wizard{asks: a, out: out, environment: env(), file: filepath.Join(folder, "config.toml"), wait: time.Minute}
		w.accounts.Telegram.APIURL, w.model.BaseURL = s.url[platforms.Telegram], s.modelURL
		done := make(chan error, 1)
		go func() { done <- w.run(t.Context()) }()
		if n > 3 {
			number := regexp.MustCompile(`message now: (\d{6})`)
			await(t, "there is a number", out.Changed, func() bool { return number.MatchString(out.String()) })
			alice.say(t, "is that 000000?") // somebody who does not know it
			alice.say(t, "it is "+number.FindStringSubmatch(out.String())[1])
		}
		err := receive(t, "the wizard ends", done)
		if strings.Contains(out.String(), canary) {
			t.Error("a secret was shown")
		}
		if n < len(all) {
			if names := namesIn(t, folder); !errors.Is(err, errNothingWritten) || len(names) > 0 {
				t.Errorf("broken off at %q: %v, and there is %q", a.seen[n], err, names)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"https://t.me/BotFather", "That does not work: ", "It works: @talaria_bot", "You are telegram:" + alice.user, "the key is refused", "Written: "} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("it does not say %q", want)
			}
		}
		for _, name := range []string{"config.toml", "secrets.env"} {
			if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode() != fs.FileMode(0o600) {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
		text, err := os.ReadFile(w.file)
		if err != nil || strings.Contains(string(text), canary) || !strings.Contains(string(text), "\n# ") {
			t.Errorf("the config is (%v):\n%s", err, text)
		}
		launch(t, nil, "check", "--listen", "0s", "--probe=false", "--config", w.file).mustExit(t, 0, "users 1, chats 0, admins 1")

		a = &answers{t: t, list: []string{"no"}}
		w.asks = a
		if err := w.run(t.Context()); !errors.Is(err, errNothingWritten) || !strings.Contains(a.seen[0], "there already") {
			t.Errorf("over a config that is there: %v after %q", err, a.seen)
		}
		if again, err := os.ReadFile(w.file); err != nil || string(again) != string(text) {
			t.Error("the config that was there has changed")
		}
	}
}

// TestSetupUnasked: everything from flags and the environment, on all three platforms, found by a message.
func TestSetupUnasked(t *testing.T) {
	t.Parallel()
	s := serveAll(t, 1, obeying(echo), nil)
	folder := t.TempDir()
	config := filepath.Join(folder, "etc", "talaria.toml")
	args := []string{
		"setup", "--yes", "--config", config, "--telegram-url", s.url[platforms.Telegram], "--slack-url", s.url[platforms.Slack] + "/api/",
		"--discord-url", s.url[platforms.Discord], "--base-url", s.modelURL, "--find", "2m",
	}
	secrets := []string{
		"TELEGRAM_BOT_TOKEN=" + telegramToken, "SLACK_BOT_TOKEN=" + slackToken, "SLACK_APP_TOKEN=" + slackAppToken,
		"DISCORD_BOT_TOKEN=" + discordToken, "OPENAI_API_KEY=" + modelKey,
	}
	launch(t, nil, "setup").mustExit(t, 2, "talaria setup --yes")
	launch(t, nil, args...).mustExit(t, 1, "no platform was chosen")
	launch(t, []string{"TELEGRAM_BOT_TOKEN=1:" + canary}, args...).mustExit(t, 1, "the bot token is refused")
	launch(t, []string{"SLACK_BOT_TOKEN=" + slackToken}, args...).mustExit(t, 1, "SLACK_APP_TOKEN is missing")

	named := append(args, "--model", demo.ModelName)
	p := launch(t, secrets, named...)
	for i, name := range allPlatforms {
		number := regexp.MustCompile(`message now: (\d{6})`)
		await(t, "there is a number for "+string(name), p.output.Changed, func() bool {
			return len(number.FindAllString(p.output.String(), -1)) == i+1
		})
		code := number.FindAllStringSubmatch(p.output.String(), -1)[i][1]
		s.seat(name, 0).say(t, "it is "+code)
		s.seat(name, 0).sees(t, "That was you.")
	}
	p.mustExit(t, 0, "You are telegram:1000", "You are slack:U0000", "You are discord:", "It works: "+demo.ModelName, "Written: ")
	launch(t, nil, "check", "--listen", "0s", "--config", config).mustExit(t, 0, "users 1, chats 0, admins 1", "calls two tools")

	again := append(named, "--user", "telegram:77", "--user", "slack:U77", "--user", "discord:77777777")
	launch(t, secrets, again...).mustExit(t, 1, "there already, and nothing was changed; --force")
	if err := os.WriteFile(filepath.Join(folder, "etc", "secrets.env"), []byte("MINE="+canary+"\nDISCORD_BOT_TOKEN=old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	launch(t, secrets[:1], append(again, "--force", "--model-key", "x")...).mustExit(t, 1, "the key is refused")
	launch(t, append(secrets[:1], secrets[4]), append(again, "--force")...).mustExit(t, 0, "Written: ")
	text, err := os.ReadFile(filepath.Join(folder, "etc", "secrets.env"))
	if err != nil || !strings.Contains(string(text), "MINE="+canary) || strings.Contains(string(text), "DISCORD") {
		t.Errorf("the secrets are (%v) %q", err, strings.ReplaceAll(string(text), canary, "***"))
	}
	if names := strings.Join(namesIn(t, filepath.Join(folder, "etc")), " "); names != "secrets.env secrets.env.old talaria.toml talaria.toml.old" {
		t.Errorf("there is %s", names)
	}
	launch(t, nil, "manifest", "discord", "--config", config).mustExit(t, 2, "--application")
}

// TestManifestCommand: what is printed is what the platforms take; the packages' own tests say so of the values.
func TestManifestCommand(t *testing.T) {
	t.Parallel()
	s := serveAll(t, 1, echo, nil)
	launch(t, nil, "manifest", "slack").mustExit(t, 0, "socket_mode_enabled: true", "- reactions:write", "messages_tab_read_only_enabled: false", "command: /talaria")
	text := launch(t, nil, "manifest", "slack", "--json", "--name", "Hermes")
	text.mustExit(t, 0)
	if err := s.slack.Install([]byte(text.output.String())); err != nil {
		t.Error(err)
	}
	launch(t, nil, "manifest", "slack", "--link").mustExit(t, 0, "https://api.slack.com/apps?manifest_json=%7B")
	launch(t, nil, "manifest", "slack", "--name", strings.Repeat("x", 36)).mustExit(t, 2, "35 characters")
	launch(t, nil, "manifest", "discord", "--application", "1234567").mustExit(t, 0, "client_id=1234567", "scope=bot+applications.commands", "Send Messages in Threads", "Message Content: switch it on")
	launch(t, nil, "manifest", "discord", "--config", s.config(t, filepath.Join(t.TempDir(), "data"), "")).mustExit(t, 0, "client_id=1000000000000000001")
	launch(t, nil, "manifest", "discord").mustExit(t, 2, "name the application with --application")
	launch(t, nil, "manifest", "matrix").mustExit(t, 2, `there is no command "manifest matrix"`)
}
