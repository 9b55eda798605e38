//go:build unix

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/platforms"
	simdiscord "github.com/talaria-agent/talaria/platforms/sim/discord"
	simslack "github.com/talaria-agent/talaria/platforms/sim/slack"
	simtelegram "github.com/talaria-agent/talaria/platforms/sim/telegram"
)

// problemLines returns the lines of a check that name something wrong.
func problemLines(output string) []string {
	return regexp.MustCompile(`(?m)^.*(PROBLEM|NOT working|note: ).*$`).FindAllString(output, -1)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	s := serveAll(t, 1, obeying(echo), nil)
	data := filepath.Join(t.TempDir(), "data")
	fine := launch(t, nil, "check", "--listen", "0s", "--config", s.config(t, data, ""))
	fine.mustExit(t, 0,
		"is fine", "@talaria_bot", "@talaria (U0BOT) in the workspace Olympus", "Talaria (user ", "users 1, chats 0", "scripted at http://",
		"clock     right", "model     calls a tool (", "calls two tools in one reply (", "goes on after an empty result (", "writes long arguments without a mistake (")
	if problems := problemLines(fine.output.String()); len(problems) > 0 {
		t.Errorf("something is wrong: %q", problems)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("check has made the data folder")
	}
	for secret, platform := range map[string]string{telegramToken: "telegram", slackToken: "slack", slackAppToken: "slack", discordToken: "discord"} {
		wrong := launch(t, nil, "check", "--listen", "0s", "--probe=false", "--config", s.config(t, data, "", `"`+secret+`"`, `"`+secret+`-wrong"`))
		wrong.mustExit(t, 1, "token is refused; ")
		if line := regexp.MustCompile(`(?m)^` + platform + ` +NOT working: `); !line.MatchString(wrong.output.String()) {
			t.Errorf("the output does not say that %s does not work", platform)
		}
		if n := strings.Count(wrong.output.String(), "NOT working"); n != 1 {
			t.Errorf("%d platforms do not work because one has a wrong token", n)
		}
	}
}

// TestCheckNamesEveryProblem: all that can be wrong at once, each in one line with its cure.
func TestCheckNamesEveryProblem(t *testing.T) {
	t.Parallel()
	wordy := func(demo.Request) demo.Response { return demo.Say("I have no tools.") }
	s := serveThese(t, 1, wordy, func(p platforms.Name, next http.Handler) http.Handler {
		if p != platforms.Telegram {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // the sender of the date that the clock is compared with
			w.Header().Set("Date", time.Now().Add(-10*time.Minute).UTC().Format(http.TimeFormat))
			next.ServeHTTP(w, r)
		})
	}, simtelegram.Options{Privacy: true, Webhook: "https://bot.example/" + canary},
		simslack.Config{Scopes: "app_mentions:read,channels:history,channels:read,chat:write,commands,files:read,groups:history,groups:read,im:history,im:read,mpim:history,mpim:read"},
		simdiscord.Options{NoMessageContent: true, Permissions: 1<<10 | 1<<11 | 1<<15 | 1<<16 | 1<<35 | 1<<38})
	config := s.config(t, filepath.Join(t.TempDir(), "data"), fmt.Sprintf(
		"[ops]\ndocuments = [%q]\nprometheus = \"http://me:%s-password@%s\"\n", filepath.Join(t.TempDir(), "nothing-here"), canary, freeAddress(t)))
	if err := os.Chmod(config, 0o644); err != nil {
		t.Fatal(err)
	}
	p := launch(t, nil, "check", "--listen", "0s", "--config", config)
	p.mustExit(t, 1)
	problems := strings.Join(problemLines(p.output.String()), "\n")
	for _, want := range []string{
		`secrets +PROBLEM: other users of this machine can read .*config.toml \(mode 0644\).*Cure: chmod 600 `,
		`clock +PROBLEM: this machine's clock is wrong by \d+m\d+s.*Cure: switch on time synchronisation`,
		`telegram +note: privacy mode is on.*Cure: .*/setprivacy`,
		`telegram +PROBLEM: a webhook is set \(bot.example\).*Cure: delete it`,
		`slack +PROBLEM: the scope reactions:write is missing, so nothing shows that a message was received. Cure: add it under OAuth`,
		`slack +PROBLEM: the scope users:read is missing`,
		`discord +PROBLEM: the Message Content intent is not enabled.*4014.*Cure: switch it on in the developer portal`,
		`discord +note: in the server "Talaria" it lacks the permission Add Reactions.*Cure: .*https://discord.com/oauth2/authorize`,
		`model +PROBLEM: not so: calls a tool: it answered in words instead. Cure: choose a model`,
		`ops +note: the documents in .*nothing-here cannot be read \(no such file or directory\). Cure: correct ops.documents`,
		`ops +note: http://\[redacted\]@127.0.0.1:\d+ does not answer .*Cure: look whether ops.prometheus is right`,
	} {
		if !regexp.MustCompile(want).MatchString(problems) {
			t.Errorf("no line says %q", want)
		}
	}
	if t.Failed() {
		t.Logf("the problems are:\n%s", problems)
	}
}
