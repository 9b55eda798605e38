//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/platforms"
)

// rewrite puts another text into the place of a file, as an editor does.
func rewrite(t *testing.T, path string, pairs ...string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	next := strings.NewReplacer(pairs...).Replace(string(text))
	if next == string(text) {
		t.Fatalf("nothing in %s changes", path)
	}
	if err := os.WriteFile(path+".new", []byte(next), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// says waits until the program has printed a text.
func (p *program) says(t *testing.T, text string) {
	t.Helper()
	await(t, "the program says "+text, p.output.Changed, func() bool { return strings.Contains(p.output.String(), text) })
}

// TestReload: what can change in the config does when the file changes, what cannot is named, and a file that cannot be used
// changes nothing and is told to the owner once. SIGHUP has it read again.
func TestReload(t *testing.T) {
	t.Parallel()
	s := serveAll(t, 3, echo, nil)
	home := s.seat(platforms.Telegram, 2)
	config := s.config(t, filepath.Join(t.TempDir(), "data"), "[gateway]\nhome = [\"telegram:"+home.chat+"\"]\nmax_age = \"1h\"\n", `"1001", `, "")
	p := launch(t, nil, "run", "--config", config)
	s.seat(platforms.Telegram, 0).say(t, "before the-change")
	s.seat(platforms.Telegram, 0).sees(t, "echo the-change")
	newcomer := s.seat(platforms.Telegram, 1)

	rewrite(t, config, `max_age = "1h"`, `max_age = "soon"`)
	p.says(t, "the config cannot be used; going on with the one before")
	home.sees(t, `"soon" is not a duration`)
	p.signal(t, syscall.SIGHUP)
	await(t, "the config is read once more", p.output.Changed, func() bool {
		return strings.Count(p.output.String(), "the config cannot be used") == 2
	})
	s.seat(platforms.Telegram, 0).say(t, "still well-alive")
	s.seat(platforms.Telegram, 0).sees(t, "echo well-alive")

	rewrite(t, config, `max_age = "soon"`, "busy = \"queue\"\nworkers = 3", `users = ["1000", "1002", ]`, `users = ["1000", "1001", "1002"]`, `level = "debug"`, `level = "info"`,
		`"`+modelKey+`"`, `"`+modelKey+`-other"`, `data_dir = "`, `data_dir = "/elsewhere`)
	p.says(t, `changed="model.api_key, access.telegram.users, gateway.workers, gateway.busy, gateway.max_age, log.level"`)
	p.says(t, `count from the next start on" keys=data_dir`)
	newcomer.say(t, "may I-come-in")
	newcomer.sees(t, "did not accept the access key")

	rewrite(t, config, modelKey+"-other", modelKey)
	p.says(t, "changed=model.api_key\n")
	newcomer.say(t, "and now-then")
	newcomer.sees(t, "echo now-then")
	rewrite(t, config, `"1001", `, "")
	p.says(t, "changed=access.telegram.users\n")
	launch(t, nil, "explain", "--config", config, "--platform", "telegram", "--user", newcomer.user, "--chat", newcomer.chat).mustExit(t, 0, "refused")
	newcomer.say(t, "hello once-more")
	s.seat(platforms.Telegram, 0).say(t, "and you-too")
	s.seat(platforms.Telegram, 0).sees(t, "echo you-too")
	p.signal(t, syscall.SIGTERM)
	p.mustExit(t, 0)
	if n := home.count("cannot be used"); n != 1 {
		t.Errorf("the owner was told %d times", n)
	}
	if newcomer.count("echo once-more") > 0 {
		t.Error("somebody who is not on the list any more got an answer")
	}
}

// TestWhatChangesLive: every key either changes while the program runs or is known to wait, and the comparison sees each.
func TestWhatChangesLive(t *testing.T) {
	waits := []string{
		"data_dir", "env_file", "platforms", "gateway.catch_up", "gateway.crash_pause", "gateway.shutdown_grace", "tools",
		"web", "ops", "hooks", "memory", "delegation", "shadow", "recording", "http", "telemetry", "log.format",
	}
	known := func(key string) bool {
		return key != "tools.approval" && slices.ContainsFunc(waits, func(w string) bool { return key == w || strings.HasPrefix(key, w+".") })
	}
	started, fresh := defaultConfig(), Config{File: "x"}
	fresh.Fallbacks, fresh.Profiles = []EndpointConfig{{Name: "x"}}, []ProfileConfig{{Match: "x"}}
	fresh.Gateway.At, fresh.Gateway.Home = []GatewayAtPlace{{Place: "slack", Busy: gateway.Steer}}, []string{"telegram:1"}
	fresh.Progress.EditInterval = time.Minute
	next := started.settled(&fresh)
	for _, key := range changedKeys(&next, &fresh) {
		if !known(key) {
			t.Errorf("%s waits for the next start", key)
		}
	}
	for _, key := range changedKeys(&started, &next) {
		if known(key) {
			t.Errorf("%s changes while the program runs", key)
		}
	}
	if diff := cmp.Diff([]string(nil), changedKeys(&fresh, &fresh)); diff != "" {
		t.Errorf("a config differs from itself: %s", diff)
	}
	if got := strings.Join(changedKeys(&started, &next), " "); !strings.Contains(got, "gateway.at") || !strings.Contains(got, "progress.edit_interval") {
		t.Errorf("what changes is %s", got)
	}
}
