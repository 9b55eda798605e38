package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

// TestBackupDeleteForgetRestore works on a data folder that no instance uses, and starts from the backup at the end.
func TestBackupDeleteForgetRestore(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "data_dir = %q\n[model]\nname = \"m\"\n", filepath.Join(dir, "data")), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := Config{DataDir: filepath.Join(dir, "data")}
	s, err := bolt.Open(cfg.database())
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []string{"1", "2", "3"} {
		c, err := s.Acquire(t.Context(), sessions.Key("telegram/7/dm/"+who), "o")
		if err != nil {
			t.Fatal(err)
		}
		r := sessions.Record{Entries: []sessions.Entry{sessions.TurnStarted{Turn: "t", Requester: who}}}
		if _, err := s.Commit(t.Context(), sessions.Append{Lease: c.Lease, Record: r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(cfg.work(), "telegram_7_dm_1")
	copies := filepath.Join(cfg.checkpoints(), "telegram_7_dm_1")
	if err := errors.Join(os.MkdirAll(work, 0o700), os.MkdirAll(copies, 0o700)); err != nil {
		t.Fatal(err)
	}
	command := func(code int, says string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if got := start(t.Context(), append(args, "-config", config), &out, &out); got != code || !strings.Contains(out.String(), says) {
			t.Fatalf("%s: exit %d\n%s", strings.Join(args, " "), got, &out)
		}
	}
	file := filepath.Join(dir, "backup.db")
	command(0, "has a copy", "sessions", "backup", file)
	command(1, "exists", "sessions", "backup", file)
	command(0, "is gone", "sessions", "delete", "telegram/7/dm/1")
	command(1, "there is no conversation", "sessions", "delete", "telegram/7/dm/1")
	command(0, "gone:   telegram/7/dm/2", "forget", "telegram:2")
	command(0, "telegram/7/dm/3", "sessions", "list")
	command(1, "there is no conversation", "sessions", "list", "telegram/7/dm/2")
	for _, folder := range []string{work, copies} {
		if _, err := os.Stat(folder); err == nil {
			t.Errorf("%s is still there", folder)
		}
	}

	if err := os.Rename(file, cfg.database()); err != nil { // as docs/operations.md says
		t.Fatal(err)
	}
	for _, who := range []string{"1", "2", "3"} {
		command(0, "t", "sessions", "list", "telegram/7/dm/"+who)
	}

	data, err := os.ReadFile(cfg.database())
	if err != nil {
		t.Fatal(err)
	}
	for i := 2 * os.Getpagesize(); i < 6*os.Getpagesize() && i < len(data); i++ {
		data[i] = 0
	}
	if err := os.WriteFile(cfg.database(), data, 0o600); err != nil {
		t.Fatal(err)
	}
	command(1, "damaged", "sessions", "delete", "telegram/7/dm/1")
	command(0, "The damaged file is kept", "sessions", "repair")
	command(0, "", "sessions", "list")
}
