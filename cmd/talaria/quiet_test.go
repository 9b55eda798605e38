package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// TestFullDiskIsNotRepeated: while the disk is full the log says so once, then once a minute, whoever says it; everything
// else is said as ever.
func TestFullDiskIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		log, _ := newLogger(&b, LogConfig{Level: "info", Format: "text"}, newRedactor())
		of := log.With("platform", "telegram").WithGroup("more")
		full := fmt.Errorf("accept m1: %w", sessions.ErrFull)
		for range 3 * 60 { // three minutes
			log.Error("not stored", "error", full)
			of.Warn("not stored either", "error", full)
			time.Sleep(time.Second)
		}
		log.Error("something else", "error", errors.New("of another kind"))
		log.Log(t.Context(), slog.LevelInfo, "no error at all")
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if len(lines) != 3+2 || !strings.Contains(lines[1], "left_out=119") {
			t.Errorf("the log says:\n%s", b.String())
		}
	})
}
