package gateway

import (
	"sync"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// tally remembers the updates that are just being accepted, or of which nobody knows whether they were, so that each is
// counted once: by the sink, or by its conversation, which may find it in its inbox first. Safe for use from any
// goroutine; the zero value is empty.
type tally struct {
	mu   sync.Mutex
	open map[sessions.ItemID]time.Time // when it was first tried
	last time.Time
}

// begin remembers an update that is about to be accepted, and gives this attempt a time that no other has. It returns
// that of the first attempt.
func (t *tally) begin(item *sessions.Item) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[sessions.ItemID]time.Time{}
	}
	if item.At = time.Now().Round(0); !item.At.After(t.last) {
		item.At = t.last.Add(1)
	}
	t.last = item.At
	first, tried := t.open[item.ID]
	if !tried {
		first = item.At
		t.open[item.ID] = first
	}
	return first
}

// settle forgets an update that is in the store. It reports whether that came of what was remembered, and not of an
// earlier time that the platform delivered the same: whoever is told so counts it.
func (t *tally) settle(item sessions.Item) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first, open := t.open[item.ID]
	delete(t.open, item.ID)
	return open && !item.At.Before(first)
}

// drop forgets an update that is to be counted no more.
func (t *tally) drop(id sessions.ItemID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, id)
}

// forget forgets what was first tried before a time, and never again.
func (t *tally) forget(before time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, first := range t.open {
		if first.Before(before) {
			delete(t.open, id)
		}
	}
}
