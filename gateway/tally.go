package gateway

import (
	"sync"

	"github.com/talaria-agent/talaria/sessions"
)

// tally remembers the updates of which nobody knows whether they were accepted, so that each is counted once: by the
// sink that gets it a second time, or by its conversation, which finds it in its inbox. Safe for use from any goroutine;
// the zero value is empty.
type tally struct {
	mu     sync.Mutex
	unsure map[sessions.ItemID]bool
}

// doubt remembers an update.
func (t *tally) doubt(id sessions.ItemID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unsure == nil {
		t.unsure = map[sessions.ItemID]bool{}
	}
	t.unsure[id] = true
}

// doubted tells whether an update is remembered.
func (t *tally) doubted(id sessions.ItemID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unsure[id]
}

// settle forgets an update and reports whether it was remembered. Whoever is told so counts it.
func (t *tally) settle(id sessions.ItemID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.unsure[id]
	delete(t.unsure, id)
	return was
}
