package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

// TestAudit reads, exports and verifies what happened in a data folder that no instance uses, before and after somebody
// changed the file.
func TestAudit(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "data_dir = %q\n[model]\nname = \"m\"\napi_key = \"canary-in-the-coal-mine\"\n", filepath.Join(dir, "data")), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := Config{DataDir: filepath.Join(dir, "data")}
	s, err := bolt.Open(cfg.database())
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	call := sessions.ToolCall{ID: "c1", Name: "terminal", Arguments: `{"command":"echo canary-in-the-coal-mine"}`}
	for _, key := range []sessions.Key{"telegram/7/dm/1", "telegram/7/dm/2"} {
		c, err := s.Acquire(t.Context(), key, "o")
		if err != nil {
			t.Fatal(err)
		}
		for n, entries := range [][]sessions.Entry{
			{sessions.TurnStarted{Turn: "t1", Requester: "1"}, sessions.SettingChanged{Name: "busy", Value: "queue", By: "1"}},
			{sessions.AssistantMessage{Turn: "t1", Message: sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{call}}}},
			{sessions.Decided{Turn: "t1", Call: "c1", Tool: "terminal", Allowed: true, Extent: "once", By: "2"}},
			{sessions.ToolResult{Turn: "t1", Outcome: sessions.OutcomeOK, Message: sessions.Message{Role: sessions.RoleTool, ToolCallID: "c1"}}},
		} {
			r := sessions.Record{At: at.Add(time.Duration(n) * time.Hour), Entries: entries}
			if _, err := s.Commit(t.Context(), sessions.Append{Lease: c.Lease, After: sessions.Revision(n), Record: r}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	command := func(code int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if got := start(t.Context(), append(args, "-config", config), &out, &out); got != code {
			t.Fatalf("%s: exit %d\n%s", strings.Join(args, " "), got, &out)
		}
		return out.String()
	}
	said := command(0, "audit", "-chat", "dm/1", "-person", "telegram:2")
	for _, want := range []string{"telegram:1", "telegram/7/dm/1", "call terminal", "once by telegram:2", "ok", "echo [redacted]"} {
		if !strings.Contains(said, want) || strings.Contains(said, "canary") || strings.Contains(said, "dm/2") || strings.Contains(said, "busy") {
			t.Errorf("no %q, or too much in\n%s", want, said)
		}
	}
	if said := command(0, "audit", "-since", "2026-03-02"); strings.Contains(said, "call") {
		t.Errorf("too old:\n%s", said)
	}
	file := filepath.Join(dir, "audit.jsonl")
	command(0, "audit", "-export", file)
	command(1, "audit", "-export", file)
	if text, err := os.ReadFile(file); err != nil || bytes.Count(text, []byte("\n")) != 4 || !bytes.Contains(text, []byte(`"arguments_sha256":"`)) {
		t.Errorf("%v, %s", err, text)
	}
	said = command(0, "audit", "verify")
	head := regexp.MustCompile(`[0-9a-f]{64}`).FindString(said)
	command(0, "sessions", "delete", "telegram/7/dm/2")
	command(0, "audit", "verify", "-head", head)
	if said := command(0, "audit"); !strings.Contains(said, "erased, 4 records") {
		t.Errorf("no trace of what was erased:\n%s", said)
	}
	db, err := bbolt.Open(cfg.database(), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte("records"))
		k, v := b.Cursor().Last()
		return b.Put(k, bytes.ReplaceAll(v, []byte(`"ok"`), []byte(`"no"`)))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if said := command(1, "audit", "verify"); !strings.Contains(said, "record 4 of telegram/7/dm/1 was changed") {
		t.Error(said)
	}
	if said := command(1, "audit", "verify", "-head", strings.Repeat("0", 64)); !strings.Contains(said, "does not have the line") {
		t.Error(said)
	}
}
