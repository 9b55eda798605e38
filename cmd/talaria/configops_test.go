package main

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
)

// TestOpsTools: the toolset is there when there is something to look at, and missed only by those who asked for it.
func TestOpsTools(t *testing.T) {
	for _, test := range []struct {
		text, tools, missing string
	}{
		{"", "", ""},
		{"[tools]\ntoolsets = [\"ops\"]\n", "", "ops: nothing is set in [ops]"},
		{"[ops]\nlogs = [\"/var/log/*.log\"]\n", "grep_log", ""},
		{"[ops]\nprometheus = \"http://127.0.0.1:9090\"\ndocuments = [\"/srv/docs\"]\n", "query_metrics search_knowledge_base", ""},
	} {
		cfg, _, err := loadConfig(writeConfig(t, test.text), env())
		if err != nil {
			t.Fatal(err)
		}
		cfg.Tools.Toolsets = slices.DeleteFunc(cfg.Tools.Toolsets, func(set string) bool { return set != "ops" })
		registry, missing, err := wireTools(&cfg, nil, nil, nil, newRedactor(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		lacks := ""
		for _, m := range missing {
			lacks += m.Toolset + ": " + m.Reason
		}
		if got := strings.Join(registry.Names(), " "); got != test.tools || lacks != test.missing {
			t.Errorf("%q: %s; missing %s", test.text, got, lacks)
		}
	}
}

func TestOpsConfigErrors(t *testing.T) {
	for text, want := range map[string]string{
		"[ops]\nlogs = [\"app.log\"]\n":                     `:2: ops.logs: "app.log" is not an absolute path`,
		"[ops]\nlogs = [\"/var/log/[a.log\"]\n":             "ops.logs",
		"[ops]\nunits = [\"-x\"]\n":                         "ops.units",
		"[ops]\nprometheus = \"localhost:9090\"\n":          "ops.prometheus",
		"[ops]\nprometheus_token = \"x\"\n":                 "no address",
		"[ops]\ndocuments = [\"docs\"]\n":                   "ops.documents",
		"[ops]\nprometheus_token_file = \"/not/there/x\"\n": "ops.prometheus_token_file",
	} {
		if _, _, err := loadConfig(writeConfig(t, text), env()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
