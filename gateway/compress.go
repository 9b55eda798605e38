package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// stuckNote tells people, once a session, that its history cannot be made smaller.
const stuckNote = "\n\n_This conversation is so long that summarising it does not help any more. " +
	"For a new topic, start a new session with the command \"new\"._"

// cmdCompress compresses the history because a person wants it. It takes the place of a turn, so that it neither holds up
// the conversation's actor nor meets a running turn; a message that comes meanwhile waits, and only a stop ends it.
func (c *conversation) cmdCompress(ctx context.Context, in *input) {
	if c.turn != nil {
		c.after = append(c.after, in)
		return
	}
	focus := argument(in)
	t := newTurn(ctx, c, []*input{in}, nil)
	t.squeeze = func() turnEnd { return t.compressNow(focus) }
	c.start(t)
}

// compressNow compresses with an eye on what a person named, and says what came of it.
func (t *turn) compressNow(focus string) turnEnd {
	g := t.c.g
	if !t.slot() {
		return turnEnd{unstarted: t.inputs}
	}
	defer t.release()
	t.typing.start(t.ctx)
	defer t.typing.stop()
	ctx, stop := loop.Unhurried(t.ctx)
	defer stop()
	entries, text := []sessions.Entry(nil), ""
	compaction, err := t.settings.Compressor.Compress(ctx, t.task(t.workFolder()), focus)
	switch {
	case ctx.Err() != nil:
		return turnEnd{unstarted: t.inputs}
	case err == nil:
		entries = append([]sessions.Entry{compaction}, t.prompt(t.log.snapshot())...)
		text = fmt.Sprintf("Done: what I remember of our conversation went from about %d to %d tokens.", compaction.Before, compaction.After)
		if !compaction.Summary {
			text += " No model was available to summarise it, so I kept excerpts."
		}
	case errors.Is(err, loop.ErrNothingToCompress):
		text = "There is nothing worth compressing yet."
	case errors.Is(err, loop.ErrIneffective):
		text = "Compressing does not make this conversation smaller any more. Start a new one with the command \"new\"."
	default:
		g.log.Error("the history was not compressed", "conversation", t.c.key, "error", err)
		text = "I could not compress our conversation; nothing was lost. The details are in the log. Please try again later."
	}
	var outs []output
	if out, ok := g.answer(t.inputs[0], text); ok {
		outs = append(outs, out)
	}
	if err := t.c.commit(context.WithoutCancel(ctx), sessions.Record{Entries: entries, Consumed: t.items(), Ended: string(Done)}, outs...); err != nil {
		return turnEnd{unstarted: t.inputs, err: err}
	}
	return turnEnd{}
}

// workFolder returns the conversation's work folder, empty if it is not usable.
func (t *turn) workFolder() string {
	work, err := t.c.g.work(t.c.key)
	if err != nil {
		t.c.g.log.Warn("the work folder is not usable", "conversation", t.c.key, "error", err)
		return ""
	}
	return work
}

// notCompressed logs why a history was not compressed before a turn, and notes for the person what only a new session can
// change.
func (t *turn) notCompressed(s *sessions.Session, tokens int, err error) {
	t.c.g.log.Warn("the history was not compressed", "conversation", t.c.key, "tokens", tokens, "error", err)
	if !errors.Is(err, loop.ErrIneffective) {
		return
	}
	if _, told := t.c.g.stuck.LoadOrStore(s.ID, true); !told {
		t.note = stuckNote
	}
}
