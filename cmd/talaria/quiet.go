package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// quietFor is how long nothing more is said about a disk that is full.
const quietFor = time.Minute

// quietHandler keeps the log from repeating itself while the disk is full, when everything that is tried fails, again and
// again: what failed for that alone is said once, then at most once a minute, with how many lines were left out.
type quietHandler struct {
	slog.Handler
	quiet *quiet
}

// quiet is what all handlers of one log share.
type quiet struct {
	mu   sync.Mutex
	said time.Time
	left int
}

// turn tells whether something may be said now, and how many lines were left out before it.
func (q *quiet) turn(now time.Time) (left int, say bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.said.IsZero() && now.Sub(q.said) < quietFor {
		q.left++
		return 0, false
	}
	left = q.left
	q.said, q.left = now, 0
	return left, true
}

func (h quietHandler) Handle(ctx context.Context, rec slog.Record) error {
	full := false
	rec.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		full = ok && errors.Is(err, sessions.ErrFull)
		return !full
	})
	if full {
		left, say := h.quiet.turn(rec.Time)
		if !say {
			return nil
		}
		if left > 0 {
			rec = rec.Clone()
			rec.AddAttrs(slog.Int("left_out", left))
		}
	}
	return h.Handler.Handle(ctx, rec)
}

func (h quietHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietHandler{h.Handler.WithAttrs(attrs), h.quiet}
}

func (h quietHandler) WithGroup(name string) slog.Handler {
	return quietHandler{h.Handler.WithGroup(name), h.quiet}
}
