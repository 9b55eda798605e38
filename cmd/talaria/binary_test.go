//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

// echo is a model that answers with the last word of what it was told.
func echo(req demo.Request) demo.Response {
	text, _ := req.LastUser()
	return demo.Say("echo " + text[strings.LastIndex(text, " ")+1:])
}

func TestRunSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	launch(t, nil, "run").mustExit(t, 1,
		"TELEGRAM_BOT_TOKEN", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "DISCORD_BOT_TOKEN", "config.toml", "talaria lab")
	launch(t, []string{"SLACK_BOT_TOKEN=" + slackToken}, "run").mustExit(t, 1, "platforms.slack.app_token", "Slack needs both tokens")
	launch(t, []string{"TELEGRAM_BOT_TOKEN=" + telegramToken}, "run").mustExit(t, 1, "model.name", "TALARIA_MODEL")
	launch(t, nil, "run", "--config", "nowhere.toml").mustExit(t, 1, "nowhere.toml")
}

func TestRunRefusesUnknownKey(t *testing.T) {
	t.Parallel()
	s := serveAll(t, 0, echo, nil)
	config := s.config(t, t.TempDir(), "[gateway]\nwrokers = 3\n")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Count(string(text[:strings.Index(string(text), "wrokers")]), "\n") + 1
	for _, command := range []string{"run", "check", "health"} {
		launch(t, nil, command, "--config", config).mustExit(t, 1,
			fmt.Sprintf(`%s:%d: unknown key "gateway.wrokers"; did you mean "gateway.workers"?`, config, line))
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	launch(t, nil, "version").mustExit(t, 0, "talaria ", "go1.")
	launch(t, nil, "help").mustExit(t, 0, "talaria lab", "talaria run", "talaria check", "talaria health")
	launch(t, nil).mustExit(t, 2, "talaria lab")
	launch(t, nil, "dance").mustExit(t, 2, `there is no command "dance"`)
	launch(t, nil, "run", "--fast").mustExit(t, 2, "-fast", "-config")
	launch(t, nil, "run", "away").mustExit(t, 2, `"away"`)
	launch(t, nil, "lab", "--listen", "0.0.0.0:0").mustExit(t, 2, "password")
	launch(t, nil, "lab", "--model-url", "http://localhost:1").mustExit(t, 2, "--model")
	launch(t, nil, "sessions").mustExit(t, 2, "talaria sessions list")
	launch(t, nil, "sessions", "help").mustExit(t, 0, "talaria sessions list")
	launch(t, nil, "sessions", "dance").mustExit(t, 2, `there is no command "sessions dance"`)
	launch(t, nil, "sessions", "list", "a", "b").mustExit(t, 2, `"b"`)
	launch(t, nil, "sessions", "list").mustExit(t, 1, "there is no data in ./data")
	launch(t, nil, "health").mustExit(t, 1, "http.listen", "TALARIA_HTTP_LISTEN")
}

// TestRun runs one instance with all that can be asked about it from outside.
func TestRun(t *testing.T) {
	t.Parallel()
	s := serveAll(t, 2, echo, nil)
	data := filepath.Join(t.TempDir(), "data")
	config := s.config(t, data, fmt.Sprintf("[http]\nlisten = %q\n", freeAddress(t)))
	first := launch(t, nil, "run", "--config", config)
	poll(t, "the program connects to Discord", func() bool { return s.discord.Connected() == 1 })
	for _, p := range allPlatforms {
		s.seat(p, 0).say(t, "hello from-"+string(p))
		s.seat(p, 0).sees(t, "echo from-"+string(p))
	}

	t.Run("a second instance is refused", func(t *testing.T) {
		launch(t, nil, "run", "--config", config).mustExit(t, 1, "another instance", filepath.Join(data, "state", "talaria.db"))
		s.seat(platforms.Slack, 1).say(t, "still there-you-are")
		s.seat(platforms.Slack, 1).sees(t, "echo there-you-are")
	})
	t.Run("health", func(t *testing.T) {
		launch(t, nil, "health", "--config", config).mustExit(t, 0,
			`"status":"ok"`, `"telegram":"alive"`, `"slack":"alive"`, `"discord":"alive"`)
	})
	t.Run("sessions list", func(t *testing.T) {
		launch(t, nil, "sessions", "list", "--config", config).mustExit(t, 0, "KEY", "hello from-telegram", "hello from-slack", "hello from-discord")
		launch(t, nil, "sessions", "list", "--config", config, "no/such").mustExit(t, 1, `there is no conversation "no/such"`)
	})
	t.Run("export and replay", func(t *testing.T) { exportAndReplay(t, s, config) })
	t.Run("only the owner can read the data", func(t *testing.T) {
		for path, want := range map[string]fs.FileMode{
			data: 0o700, filepath.Join(data, "state"): 0o700, filepath.Join(data, "state", "talaria.db"): 0o600,
			filepath.Join(data, "state", "control.json"): 0o600, filepath.Join(data, "state", "recordings"): 0o700, filepath.Join(data, "work"): 0o700,
		} {
			info, err := os.Stat(path)
			if err != nil {
				t.Error(err)
			} else if info.Mode().Perm() != want {
				t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
			}
		}
	})
	first.signal(t, syscall.SIGTERM)
	first.mustExit(t, 0)
	launch(t, nil, "health", "--config", config).mustExit(t, 1, "no answer from the running instance")
	launch(t, nil, "sessions", "list", "--config", config).mustExit(t, 0, "hello from-slack")
	exportAndReplay(t, s, config) // without an instance
	launch(t, nil, "run", "--config", "/dev/null").mustExit(t, 1, "no platform has a token")
}

// exportAndReplay has a person tell a secret, if the program runs, exports the conversation and plays it.
func exportAndReplay(t *testing.T, s *services, config string) {
	t.Helper()
	const secret = "sk-" + canary + "0123456789abcdef"
	if alice := s.seat(platforms.Telegram, 1); alice.count("echo "+secret) == 0 {
		alice.say(t, "my key is "+secret)
		alice.sees(t, "echo "+secret)
	}
	list := launch(t, nil, "sessions", "list", "--config", config)
	list.mustExit(t, 0)
	key := regexp.MustCompile(`telegram\S+1001\S*`).FindString(list.output.String())
	folder := t.TempDir()
	for name, args := range map[string][]string{"last": nil, "session": {"--session", "1"}} {
		file := filepath.Join(folder, name)
		args = append([]string{"sessions", "export", key, "--config", config, "-o", file}, args...)
		launch(t, nil, args...).mustExit(t, 0)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), canary) || !strings.Contains(string(text), "my key is [redacted]") {
			t.Errorf("the export is not redacted:\n%s", text)
		}
		launch(t, nil, "sessions", "replay", file).mustExit(t, 0, "the same: turn ", "1 model calls", `ended by "answered"`)
		changed := strings.Replace(string(text), `"signal":"said text"`, `"signal":"failed"`, 1)
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		launch(t, nil, "sessions", "replay", file).mustExit(t, 1, "a transition differs", `thinking → done on "failed"`)
		cut := strings.TrimSpace(string(text))
		if err := os.WriteFile(file, []byte(cut[:strings.LastIndex(cut, "\n")+1]), 0o600); err != nil {
			t.Fatal(err)
		}
		launch(t, nil, "sessions", "replay", file).mustExit(t, 1, "the recording is cut", "in the middle of turn")
	}
	launch(t, nil, "sessions", "export", key, "--config", config).mustExit(t, 0, `"kind":"request"`, `"kind":"reply"`)
	launch(t, nil, "sessions", "export", key, "--config", config, "--turn", "x").mustExit(t, 1, `there is no turn "x"`)
	launch(t, nil, "sessions", "export", key, "--config", config, "--session", "9").mustExit(t, 1, "there is no session 9")
	launch(t, nil, "sessions", "export", "no/such", "--config", config).mustExit(t, 1, `there is no conversation "no/such"`)
}

// TestRunWithWrongTokens: a platform that refuses the token is off with a word in the log, and all of them are an end.
func TestRunWithWrongTokens(t *testing.T) {
	t.Parallel()
	s := serveAll(t, 1, echo, nil)
	wrong := []string{`"` + telegramToken, `"7000000001:BB-` + canary, `"` + slackToken, `"xoxb-` + canary + "-other", `"` + discordToken, `"other-` + canary}
	data := filepath.Join(t.TempDir(), "data")
	launch(t, nil, "run", "--config", s.config(t, data, "", wrong...)).mustExit(t, 1,
		"a platform is off", "telegram:", "slack:", "discord:")

	one := launch(t, nil, "run", "--config", s.config(t, data, "", wrong[:2]...))
	await(t, "Telegram is off", one.output.Changed, func() bool { return strings.Contains(one.output.String(), "a platform is off") })
	s.seat(platforms.Slack, 0).say(t, "and yet it-moves")
	s.seat(platforms.Slack, 0).sees(t, "echo it-moves")
	one.signal(t, syscall.SIGTERM)
	one.mustExit(t, 0)
}

// TestUnreachable: without a network the program waits and says so, and no secret is in what the network's errors say.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := serveAll(t, 1, echo, nil)
	nowhere := "http://" + freeAddress(t)
	replace := []string{s.modelURL, nowhere + "/v1"}
	for _, p := range allPlatforms {
		replace = append(replace, s.url[p], nowhere)
	}
	config := s.config(t, filepath.Join(t.TempDir(), "data"), "", replace...)
	launch(t, nil, "check", "--probe=false", "--config", config).mustExit(t, 1, "telegram  NOT working", "slack     NOT working", "discord   NOT working", "Is there a network")

	p := launch(t, nil, "run", "--config", config)
	for _, platform := range allPlatforms {
		refused := regexp.MustCompile(`(?i)` + string(platform) + `.*refused`)
		await(t, string(platform)+" is complained about", p.output.Changed, func() bool { return refused.MatchString(p.output.String()) })
	}
	p.signal(t, syscall.SIGTERM)
	p.mustExit(t, 0)
}

// TestModelTrouble: a person is told what is wrong with the model, and nobody its key.
func TestModelTrouble(t *testing.T) {
	t.Parallel()
	s := serveAll(t, 1, echo, nil)
	for _, trouble := range []struct{ name, old, wrong, said, logged string }{
		{"a wrong key", modelKey, modelKey + "-wrong", "did not accept the access key", "the API key is wrong"},
		{"no network", s.modelURL, "http://" + freeAddress(t) + "/v1", "", "connection refused"},
	} {
		p := launch(t, nil, "run", "--config", s.config(t, filepath.Join(t.TempDir(), "data"), "", trouble.old, trouble.wrong))
		alice := s.seat(platforms.Telegram, 0)
		alice.say(t, "are you-there")
		await(t, trouble.name+" is logged", p.output.Changed, func() bool { return strings.Contains(p.output.String(), trouble.logged) })
		if trouble.said != "" { // without a network the model is asked for a while longer
			alice.sees(t, trouble.said)
		}
		if alice.count(canary) > 0 {
			t.Errorf("%s: a secret is in the chat", trouble.name)
		}
		p.signal(t, syscall.SIGTERM)
		p.mustExit(t, 0)
	}
}

// TestStopDuringTurn: a turn is parked by SIGTERM, and goes on with the next start.
func TestStopDuringTurn(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	var first sync.Once
	s := serveAll(t, 1, func(req demo.Request) demo.Response {
		reply := echo(req)
		first.Do(func() {
			close(asked)
			reply = demo.Response{Wait: time.Hour} // ends with the client
		})
		return reply
	}, nil)
	data := filepath.Join(t.TempDir(), "data")
	config := s.config(t, data, "")
	p := launch(t, nil, "run", "--config", config)
	alice := s.seat(platforms.Telegram, 0)
	alice.say(t, "take your-time")
	receive(t, "the model is asked", asked)
	p.signal(t, syscall.SIGTERM)
	p.mustExit(t, 0)
	if turn := openTurn(t, data); turn == nil {
		t.Error("the turn is not open in the log")
	}

	p = launch(t, nil, "run", "--config", config)
	alice.sees(t, "echo your-time")
	p.signal(t, os.Interrupt)
	p.mustExit(t, 0)
	if n := alice.count("echo your-time"); n != 1 {
		t.Errorf("the answer is there %d times", n)
	}
	if turn := openTurn(t, data); turn != nil {
		t.Errorf("the turn %s is still open in the log", turn.ID)
	}
}

// openTurn returns the open turn of the only conversation.
func openTurn(t *testing.T, data string) (turn *sessions.Turn) {
	t.Helper()
	store, err := bolt.Open(filepath.Join(data, "state", "talaria.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for key, err := range store.Keys(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		c, err := store.Acquire(t.Context(), key, "test")
		if err != nil {
			t.Fatal(err)
		}
		s, err := sessions.Fold(key, c.Records)
		if err != nil {
			t.Fatal(err)
		}
		turn = s.Turn
	}
	return turn
}

// TestSecondSignal: a first SIGTERM waits for an answer that is on its way, a second one does not.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	sending, stopping := make(chan struct{}), make(chan struct{})
	s := serveAll(t, 1, echo, func(p platforms.Name, next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/sendMessage"):
				close(sending)
				untilClientIsGone(r)
			case strings.HasSuffix(r.URL.Path, "/getUpdates"):
				next.ServeHTTP(w, r)
				if r.Context().Err() != nil {
					close(stopping)
				}
			default:
				next.ServeHTTP(w, r)
			}
		})
	})
	p := launch(t, nil, "run", "--config", s.config(t, filepath.Join(t.TempDir(), "data"), ""))
	s.seat(platforms.Telegram, 0).say(t, "never-mind")
	receive(t, "the answer is sent", sending)
	p.signal(t, syscall.SIGTERM)
	receive(t, "the program stops to ask for updates", stopping)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for ended := false; !ended; {
		p.signal(t, syscall.SIGTERM) // once more, if it came before the program was ready for it
		select {
		case <-p.ended:
			ended = true
		case <-ticker.C:
		}
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("the program ended by itself (%v), as if it had waited", p.cmd.ProcessState)
	}
}

// freeAddress returns an address on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
