package gateway

import (
	"context"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// flushing is the work of noting what a session that was left held. It runs beside the conversation, which stays awake
// for it. It lives in memory alone: a crash or the end of the program drops it, and what it had noted stays.
type flushing struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when it has ended
}

// flushLeft notes what a session held that was just left. Nobody waits for it: the reply to the command is on its way. Like
// a turn it takes a worker's slot.
func (c *conversation) flushLeft(left *sessions.Session, in *input) {
	if c.torn || c.flushes() {
		return
	}
	g, log, o := c.g, c.log, in.origin()
	ctx, cancel := context.WithCancelCause(g.ctx)
	f := &flushing{cancel: cancel, done: make(chan struct{})}
	c.flushing = f
	scope := tools.Scope{Conversation: string(c.key), Chat: chatOf(g.moves.first(o.Address)), Requester: o.Sender.ID}
	g.side.Go(func() {
		defer close(f.done)
		defer cancel(nil)
		if g.pool.acquire(ctx, in.person()) != nil {
			return
		}
		defer g.pool.release(in.person())
		g.flush(ctx, g.now().Runner, log, loop.Flush{ID: newID(), Session: left, Scope: scope})
	})
}

// flushes tells whether notes are being taken of a session that was left.
func (c *conversation) flushes() bool {
	if c.flushing == nil {
		return false
	}
	select {
	case <-c.flushing.done:
		return false
	default:
		return true
	}
}

// stopFlush stops that, and tells whether there was anything to stop.
func (c *conversation) stopFlush() bool {
	if !c.flushes() {
		return false
	}
	c.flushing.cancel(loop.ErrStopped)
	return true
}

// flush lets the model take notes and writes them down as they come.
func (g *Gateway) flush(ctx context.Context, runner *loop.Runner, log *convLog, f loop.Flush) {
	f.Tools = g.parts.Tools
	f.Keep = func(ctx context.Context, entries ...sessions.Entry) error {
		if err := log.append(ctx, sessions.Record{Entries: entries}); err != nil {
			return err
		}
		g.keepNotes(entries)
		return nil
	}
	if err := runner.Flush(ctx, f); err != nil {
		g.log.Info("not everything may have been noted", "conversation", log.key, "error", err)
	}
}
