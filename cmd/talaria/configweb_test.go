package main

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/tools"
)

// TestWeb makes the web tools of a config, and tries what they refuse.
func TestWeb(t *testing.T) {
	cfg := defaultConfig()
	cfg.Model.APIKey = "the-key-of-the-model"
	k := &kit{redact: newRedactor(cfg.secrets()...), cfg: &cfg, log: slog.New(slog.DiscardHandler)}
	set, err := k.web()
	if err != nil || len(set) != 1 || len(k.missing) != 1 || k.missing[0].Name != "web_search" {
		t.Fatalf("without an engine: %v, missing %v, error %v", set, k.missing, err)
	}
	cfg.Web.Engine, cfg.Web.APIKey = "brave", "the-key-of-the-engine"
	cfg.Web.Deny, cfg.Web.Private = []string{"evil.example"}, []string{"10.1.2.0/24"}
	k = &kit{redact: newRedactor(cfg.secrets()...), cfg: &cfg, log: slog.New(slog.DiscardHandler)}
	if set, err = k.web(); err != nil || len(set) != 2 || len(k.missing) != 0 {
		t.Fatalf("with an engine: %v, missing %v, error %v", set, k.missing, err)
	}
	for arguments, tool := range map[string]tools.Tool{
		`{"url": "https://a.example/?k=the-key-of-the-model"}`: set[0],
		`{"url": "https://a.example/the%2Dkey-of-the-engine"}`: set[0],
		`{"url": "https://evil.example/"}`:                     set[0],
		`{"url": "http://127.0.0.1/"}`:                         set[0],
		`{"url": "http://10.1.2.3:22/"}`:                       set[0],
		`{"query": "what does the-key-of-the-model mean"}`:     set[1],
	} {
		r, err := tool.Call(t.Context(), tools.Scope{}, json.RawMessage(arguments))
		if err != nil || r.Class != tools.FailPermission || strings.Contains(r.Text, "the-key") {
			t.Errorf("%s: %+v, %v", arguments, r, err)
		}
	}
}

func TestValidateWeb(t *testing.T) {
	for problem, change := range map[string]func(*WebConfig){
		"":                                     func(w *WebConfig) { w.Engine, w.URL = "searxng", "http://localhost:8888" },
		`web.allow: "https://a.example" is`:    func(w *WebConfig) { w.Allow = []string{"https://a.example"} },
		`web.deny: "" is`:                      func(w *WebConfig) { w.Deny = []string{""} },
		`web.private: "10.1.2.3" is`:           func(w *WebConfig) { w.Private = []string{"10.1.2.3"} },
		`web.private: "::ffff:1.2.3.0/120" is`: func(w *WebConfig) { w.Private = []string{"::ffff:1.2.3.0/120"} },
		"web.ports: 0 is":                      func(w *WebConfig) { w.Ports = []int{443, 0} },
		"web.url: ":                            func(w *WebConfig) { w.URL = "search.example" },
		"web.engine: SearXNG needs":            func(w *WebConfig) { w.Engine = "searxng" },
		"web.engine: the engine needs":         func(w *WebConfig) { w.Engine = "tavily" },
		"web.engine: there is no engine":       func(w *WebConfig) { w.Engine = "google" },
	} {
		w, c := defaultConfig().Web, &checker{}
		change(&w)
		validateWeb(c, &w)
		if got := strings.Join(c.problems, "\n"); !strings.HasPrefix(got, problem) || problem == "" && got != "" {
			t.Errorf("the problems are %q, want %q", got, problem)
		}
	}
}
