package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
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

// TestAssumedWindows: a window that nobody has confirmed is said to be assumed, one from the config or a catalogue is not.
func TestAssumedWindows(t *testing.T) {
	for text, assumed := range map[string]bool{
		"[model]\nname = \"mine\"\n":                                                  true,
		"[model]\nname = \"gpt-6-whatever\"\n":                                        true,
		"[model]\nname = \"gpt-6\"\nwindow = 272000\n":                                false,
		"[model]\nname = \"gpt-4o\"\n":                                                false,
		"[model]\nname = \"m\"\n[[profiles]]\nmatch = \"m\"\nwindow = 9000\n":         false,
		"[model]\nname = \"gpt-6\"\n[[profiles]]\nmatch = \"gpt-6\"\nmax_turns = 9\n": true,
	} {
		_, warnings, err := loadConfig(writeConfig(t, text), env())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(warnings, "\n"), "nothing is confirmed of this model"); got != assumed {
			t.Errorf("%q: %v", text, warnings)
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
	models, err := wireModels(&cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := loop.Request{Messages: []sessions.Message{{Role: sessions.RoleUser, Text: "hello"}}}
	if _, err := models.main.Call(t.Context(), ask, func(string) {}); loop.ModelClass(err) != loop.ModelAuth {
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

// TestAuxiliaryModels: each task asks its own models in their order, in any API mode, and the main model last.
func TestAuxiliaryModels(t *testing.T) {
	broken := demo.Fail(http.StatusServiceUnavailable, "down")
	var asked []string
	seen := 0
	server := httptest.NewServer(demo.NewScripted(demo.Options{Delay: -1}, func(r demo.Request) demo.Response {
		asked = append(asked, r.Model)
		seen = len(r.Messages[len(r.Messages)-1].Images())
		if strings.HasPrefix(r.Model, "broken") {
			return broken
		}
		return demo.Say("It is " + r.Model)
	}))
	defer server.Close()
	block := func(key, name, api string) string {
		return fmt.Sprintf("[%s]\nname = %q\napi = %q\nbase_url = %q\n", key, name, api, server.URL+"/v1")
	}
	cfg, _, err := loadConfig(writeConfig(t, block("model", "main", "chat")+
		block("[auxiliary.vision]", "broken-eye", "responses")+block("[auxiliary.vision]", "eye", "messages")+
		block("[auxiliary.web]", "broken-reader", "messages")), env())
	if err != nil {
		t.Fatal(err)
	}
	models, err := wireModels(&cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	dot := []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;")
	text, err := models.vision.Describe(t.Context(), "What is it?", tools.Part{Image: tools.Image{Type: "image/gif", Data: dot}})
	if err != nil || text != "It is eye" || seen != 1 {
		t.Errorf("vision: %q, %v, %d pictures", text, err, seen)
	}
	text, err = models.web.Describe(t.Context(), "What does it say?", tools.Part{Text: "a page"})
	if err != nil || text != "It is main" || seen != 0 {
		t.Errorf("web: %q, %v, %d pictures", text, err, seen)
	}
	if want := []string{"broken-eye", "eye", "broken-reader", "main"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}
