package gateway_test

import (
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/gateway/figures"
	"github.com/talaria-agent/talaria/sessions"
)

// counts is an observer that counts what must add up: in each process for itself, and in all of a script's together
// with what the store holds.
type counts struct {
	mu    sync.Mutex
	ended map[gateway.Ending]int // of all processes
	items int                    // of this process: found, accepted, and not ended
	rows  int                    // likewise: found, queued, and not settled
}

func newCounts() *counts { return &counts{ended: map[gateway.Ending]int{}} }

func (c *counts) observe(e gateway.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := e.(type) {
	case gateway.Began:
		c.items, c.rows = e.Items, e.Rows
	case gateway.Accepted:
		c.items++
	case gateway.Settled:
		c.ended[e.Ending] += e.Count
		c.items -= e.Count
	case gateway.RowQueued:
		c.rows++
	case gateway.RowSettled:
		c.rows--
	}
}

// addUp holds what was counted against the store, after the gateway has stopped.
func (c *counts) addUp(t *testing.T, store sessions.Store) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	f, err := figures.Read(context.WithoutCancel(t.Context()), store)
	if err != nil {
		t.Errorf("the figures: %v", err)
		return
	}
	if c.items != f.Pending || c.rows != f.Waiting {
		t.Errorf("by what was counted %d items wait and %d answers are on their way; the store says %s", c.items, c.rows, f)
	}
	if diff := cmp.Diff(f.Ended, maps.Clone(c.ended)); diff != "" {
		t.Errorf("outcomes as the store has them and as they were counted (-store +counted):\n%s", diff)
	}
}
