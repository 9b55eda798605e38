package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/terminal"
)

// TestTerminalIsJudged joins the terminal with the policy as the gateway has them.
func TestTerminalIsJudged(t *testing.T) {
	cfg := defaultConfig()
	cfg.DataDir = t.TempDir()
	cfg.File = filepath.Join(t.TempDir(), "config.toml")
	cfg.Tools.Deny = []string{"terraform *"}
	if _, err := findSandbox(&cfg); err != nil {
		t.Logf("without a sandbox: %v", err)
		cfg.Tools.Sandbox = terminal.Off
	}
	set, err := (&kit{cfg: &cfg, log: slog.New(slog.DiscardHandler)}).terminal()
	if err != nil || len(set) == 0 {
		t.Fatal(set, err)
	}
	scope := tools.Scope{Work: filepath.Join(cfg.DataDir, "work", "a")}
	for command, want := range map[string][2]tools.Verdict{ // if it asks, and if it does not
		"ls -l":                             {tools.Allow, tools.Allow},
		"rm -r build":                       {tools.AskFirst, tools.Allow},
		"cat " + cfg.File:                   {tools.AskFirst, tools.Allow},
		"cat ../../state/talaria.db":        {tools.AskFirst, tools.Allow},
		"kill " + strconv.Itoa(os.Getpid()): {tools.AskFirst, tools.Allow},
		"rm -rf /":                          {tools.DenyAlways, tools.DenyAlways},
		"cd x && terraform apply && echo y": {tools.DenyAlways, tools.DenyAlways},
	} {
		raw, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		for i, approval := range []string{"ask", "off"} {
			if got := wirePolicy(ToolsConfig{Approval: approval}).Judge(scope, set[0].Spec(), raw); got.Verdict != want[i] {
				t.Errorf("%s, approval %s: %+v, want %s", command, approval, got, want[i])
			}
		}
	}
}

func TestDescribeSandbox(t *testing.T) {
	cfg := defaultConfig()
	cfg.Tools.Sandbox = terminal.Off
	if line, ok := describeSandbox(&cfg); !ok || !strings.HasPrefix(line, "off") {
		t.Errorf("off: %q, %v", line, ok)
	}
	cfg.Tools.Toolsets = []string{"files"}
	if line, ok := describeSandbox(&cfg); !ok || !strings.Contains(line, "is off") {
		t.Errorf("no terminal: %q, %v", line, ok)
	}
}

// TestOwn makes sure that every file with a secret is out of reach of commands.
func TestOwn(t *testing.T) {
	cfg := defaultConfig()
	cfg.DataDir, cfg.File, cfg.Model.APIKeyFile, cfg.Platforms.Slack.AppTokenFile = "data", "config.toml", "/run/key", "/run/slack"
	cfg.Web.APIKeyFile = "/run/search"
	own, err := cfg.own()
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{here + "/data", here + "/config.toml", "/run/key", "/run/slack", "/run/search"} {
		if !slices.Contains(own, want) {
			t.Errorf("%s is missing in %v", want, own)
		}
	}
}
