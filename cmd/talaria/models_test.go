package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

func TestModelSizes(t *testing.T) {
	for text, want := range map[string][2]int{
		"[model]\nname = \"gpt-4o\"\n":                                                      {128_000, 16_000},
		"[model]\nname = \"gpt-4o\"\nwindow = 40000\n":                                      {40_000, 5_000},
		"[model]\nname = \"gpt-4o\"\nmax_output = 500\n":                                    {128_000, 500},
		"[model]\nname = \"mine\"\n":                                                        {128_000, 8_192},
		"[model]\nname = \"Mine-2\"\n[[profiles]]\nmatch = \"MINE*\"\nwindow = 8000\n":      {8_000, 1_000},
		"[model]\nname = \"gpt-4o\"\n[[profiles]]\nmatch = \"gpt-4o\"\nmax_output = 1000\n": {128_000, 1_000},
	} {
		cfg, _, err := loadConfig(writeConfig(t, text), env())
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]int{cfg.Model.Window, cfg.Model.MaxOutput}; got != want {
			t.Errorf("%q: window and output %v, want %v", text, got, want)
		}
	}
}

// TestMessagesGoToTheirMaker: neither the address nor the key of another provider is used for them.
func TestMessagesGoToTheirMaker(t *testing.T) {
	cfg, _, err := loadConfig(writeConfig(t, "[model]\nname = \"claude-sonnet-4\"\napi = \"messages\"\n"),
		env("OPENAI_API_KEY", "sk-1", "ANTHROPIC_API_KEY", "sk-2"))
	if err != nil {
		t.Fatal(err)
	}
	if e := cfg.Model.endpoint(); e.BaseURL != "" || e.APIKey != "sk-2" {
		t.Errorf("endpoint: %+v", e)
	}
}

// TestKeysStayWithTheirModel: a fallback gets its own key and never that of the main model, and a key that stands in a
// file is read again after it was refused.
func TestKeysStayWithTheirModel(t *testing.T) {
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Authorization"))
		http.Error(w, `{"error":{"message":"no","code":"invalid_api_key"}}`, http.StatusUnauthorized)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "key")
	write := func(key string) {
		if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	cfg, _, err := loadConfig(writeConfig(t, "[model]\nname = \"a\"\nbase_url = \""+server.URL+"\"\napi_key_file = \""+file+"\"\n"+
		"[[fallbacks]]\nname = \"b\"\nbase_url = \""+server.URL+"\"\n[[fallbacks]]\nname = \"c\"\napi_key = \"${C_KEY}\"\nbase_url = \""+server.URL+"\"\n"),
		env("C_KEY", "secret-c"))
	if err != nil {
		t.Fatal(err)
	}
	write("new")
	chain, _, err := wireChain(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	ask := loop.Request{Messages: []sessions.Message{{Role: sessions.RoleUser, Text: "hello"}}}
	if _, err := chain.Call(t.Context(), ask, func(string) {}); loop.ModelClass(err) != loop.ModelAuth {
		t.Errorf("error: %v", err)
	}
	want := []string{"Bearer old", "Bearer new", "", "Bearer secret-c"}
	if len(keys) != len(want) {
		t.Fatalf("keys: %q", keys)
	}
	for i := range want {
		if keys[i] != want[i] && !(want[i] == "" && keys[i] == "Bearer ") {
			t.Errorf("call %d: %q, want %q", i, keys[i], want[i])
		}
	}
	if r := newRedactor(cfg.secrets()...); r.text("it is secret-c") != "it is [redacted]" {
		t.Error("the key of a fallback is not redacted")
	}
}
