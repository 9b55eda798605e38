package gateway

import (
	"context"
	"sync"

	"github.com/talaria-agent/talaria/platforms"
)

// editing lets the edits of one message follow each other: one that is still under way when the next is made could arrive
// after it, and then progress would stand where the answer was. Safe for use from any goroutine; the zero value is empty.
type editing struct {
	mu    sync.Mutex
	edits map[edited]chan struct{} // closed when the edit is over
}

// edited is a message that is being edited.
type edited struct {
	at platforms.Address
	id string
}

// edit edits a message when nobody else does, or returns why the context ended before. An edit that is not wanted any more
// (see platforms.Droppable) is not begun: what was to come after it may be there already.
func (e *editing) edit(ctx context.Context, editor platforms.Editor, at platforms.Address, id string, out platforms.Outgoing) error {
	m, done := edited{at, id}, make(chan struct{})
	for {
		select {
		case <-platforms.Dropped(ctx):
			return platforms.ErrDropped
		default:
		}
		e.mu.Lock()
		before := e.edits[m]
		if before == nil {
			break
		}
		e.mu.Unlock()
		select {
		case <-before:
		case <-platforms.Dropped(ctx):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if e.edits == nil {
		e.edits = map[edited]chan struct{}{}
	}
	e.edits[m] = done
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.edits, m)
		close(done)
	}()
	return editor.Edit(ctx, at, id, out)
}
