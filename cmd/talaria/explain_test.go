package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/memory"
)

func TestExplain(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.toml")
	text := `data_dir = "` + t.TempDir() + `"
[model]
name = "gpt-5"
api_key = "k"
[platforms.telegram]
token = "42:ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHI"
[access.telegram]
users = ["7"]
chats = ["-100"]
admins = ["8"]
[tools]
toolsets = ["files", "todo"]
[loop]
max_turns = 12
`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args      []string
		says, not string
	}{
		"stranger":   {[]string{"--user", "9"}, "refused: 9 is not in access.telegram.users", "session"},
		"direct":     {[]string{"--user", "7"}, "telegram/42/dm/7 (dm)", "refused"},
		"limits":     {[]string{"--user", "7"}, "12 model calls", "terminal"},
		"tools":      {[]string{"--user", "7"}, "read_file", "terminal"},
		"other chat": {[]string{"--user", "7", "--chat", "-200"}, "refused: -200 is not in access.telegram.chats", "session"},
		"no mention": {[]string{"--user", "7", "--chat", "-100"}, "not for the bot: here only what mentions the bot", ""},
		"mention":    {[]string{"--user", "7", "--chat", "-100", "--mention"}, "telegram/42/group/-100/user/7 (group)", "not for the bot"},
		"topic":      {[]string{"--user", "8", "--chat", "-100", "--thread", "5", "--mention"}, "telegram/42/topic/-100/5 (topic)", "admin     no"},
		"command":    {[]string{"--user", "8", "--text", "/status"}, "status: the gateway answers it", "admin     no"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			args := append([]string{"explain", "--config", config, "--platform", "telegram"}, test.args...)
			if code := start(t.Context(), args, &out, &errs); code != 0 {
				t.Fatalf("exit %d: %s", code, &errs)
			}
			if !strings.Contains(out.String(), test.says) || test.not != "" && strings.Contains(out.String(), test.not) {
				t.Errorf("it says\n%s", &out)
			}
		})
	}
}

// TestExplainMoved: what is stored counts as well. A group that has moved is known by its first id.
func TestExplainMoved(t *testing.T) {
	store := memory.New()
	moves, err := json.Marshal([]any{map[string]any{"from": map[string]any{"platform": "telegram", "account": "42", "chat": "-100"}, "to": "-300"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Commit(context.Background(), sessions.Set{Name: "moved chats", Value: moves}); err != nil {
		t.Fatal(err)
	}
	cfg := defaultConfig()
	cfg.Access.Telegram = AccessList{Users: []string{"7"}, Chats: []string{"-100"}}
	cfg.Tools.Toolsets = nil
	var out bytes.Buffer
	in := explainRequest{Platform: "telegram", Account: "42", User: "7", Chat: "-300", Mentioned: true}
	if err := (instance{config: always(&cfg), store: store}).explain(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "telegram/42/group/-100/user/7") {
		t.Errorf("it says\n%s", &out)
	}
}
