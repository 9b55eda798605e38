package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/tools"
)

func TestMCPConfig(t *testing.T) {
	cfg, _, err := loadConfig(writeConfig(t, `
[[mcp]]
name = "far"
url = "https://mcp.example.com/mcp"
token = "${FAR_TOKEN}"
headers = ["X-Api-Key: ${FAR_KEY}", "Authorization: Basic dXNlcjpwYXNz"]
[[mcp]]
name = "near"
command = ["sh", "-c", "true"]
env = ["NEAR_TOKEN", "LOG_LEVEL=warning", "DATABASE=postgres://me:database-pass@db/x"]
`), env("FAR_TOKEN", "far-token-1", "FAR_KEY", "far-key-1", "NEAR_TOKEN", "near-token-1"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(cfg.MCP[1].Env, " "); got != "NEAR_TOKEN=near-token-1 LOG_LEVEL=warning DATABASE=postgres://me:database-pass@db/x" {
		t.Errorf("env is %s", got)
	}
	redact := newRedactor(cfg.secrets()...)
	for _, secret := range []string{"far-token-1", "far-key-1", "dXNlcjpwYXNz", "near-token-1", "database-pass"} {
		if !redact.holds(secret) {
			t.Errorf("%s is no secret", secret)
		}
	}
	if redact.holds("a warning") {
		t.Error("a harmless variable is a secret")
	}
	_, missing, err := wireTools(&cfg, nil, nil, nil, redact, slog.New(slog.DiscardHandler))
	if err != nil || slices.ContainsFunc(missing, func(m tools.Missing) bool { return m.Toolset == "mcp" }) {
		t.Errorf("missing %v, %v", missing, err)
	}
}

func TestMCPConfigErrors(t *testing.T) {
	for text, want := range map[string]string{
		"[[mcp]]\nname = \"a\"\n":                                                                   ":1: mcp[0]: it needs either a command or an address",
		"[[mcp]]\nname = \"a b\"\nurl = \"http://x\"\n":                                             "is no name",
		"[[mcp]]\nname = \"a\"\nurl = \"x\"\n":                                                      ":3: mcp[0].url",
		"[[mcp]]\nname = \"a\"\ncommand = [\"no-such-program-here\"]\n":                             ":3: mcp[0].command: there is no program",
		"[[mcp]]\nname = \"a\"\ncommand = [\"sh\"]\nenv = [\"NOT_SET\"]\n":                          ":4: mcp[0].env: NOT_SET is not set",
		"[[mcp]]\nname = \"a\"\nurl = \"http://x\"\n[[mcp]]\nname = \"a\"\nurl = \"http://y\"\n":    ":5: mcp[1].name: there are two servers",
		"[[mcp]]\nname = \"a\"\nurl = \"http://x\"\ntoken = \"t\"\ntoken_file = \"/not/there/x\"\n": "keep one",
	} {
		if _, _, err := loadConfig(writeConfig(t, text), env()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestCheckMCP: a server that does not work is a note, without its token.
func TestCheckMCP(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	}))
	defer refusing.Close()
	cfg := defaultConfig()
	cfg.MCP = []MCPConfig{{Name: "far", URL: refusing.URL, Token: "far-token-1"}}
	var out bytes.Buffer
	r := &checkup{out: &out}
	r.mcp(context.Background(), &cfg, newRedactor(cfg.secrets()...))
	if got := out.String(); r.bad || !strings.HasPrefix(got, "mcp       note: far does not work (") || strings.Contains(got, "far-token-1") {
		t.Errorf("check says %s", got)
	}
}
