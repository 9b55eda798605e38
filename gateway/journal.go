package gateway

import (
	"context"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// turnJournal is the loop's way to the log.
type turnJournal struct {
	t     *turn
	ended bool
	err   error
}

// Session implements loop.Journal.
func (j *turnJournal) Session() *sessions.Session { return j.t.log.snapshot() }

// Append implements loop.Journal.
func (j *turnJournal) Append(ctx context.Context, entries ...sessions.Entry) error {
	err := j.t.c.g.commit(ctx, j.t.log, sessions.Record{Entries: entries}, j.t.sent(entries)...)
	if err != nil {
		j.err = err
	} else {
		j.t.c.g.keepNotes(entries)
	}
	return err
}

// End implements loop.Journal: the last entries, the consumed messages, the answer and the last edit of the progress
// message in one commit.
func (j *turnJournal) End(ctx context.Context, outcome loop.Outcome, entries ...sessions.Entry) error {
	err := j.t.c.commit(ctx, sessions.Record{Entries: entries, Consumed: j.t.items()}, j.t.outputs(outcome)...)
	j.ended = err == nil
	if err != nil {
		j.err = err
	}
	return err
}

// outputs is what a turn's end has to say: the answer, in a message of its own or in place of those that have shown it or
// the progress; and what becomes of these otherwise.
func (t *turn) outputs(outcome loop.Outcome) []output {
	grown := t.stream.finish()
	shown := t.bubble.finish(outcome)
	text := outcome.Text
	if text != "" {
		text += t.note
	}
	if e := t.errand(); e != nil {
		return t.reported(e, outcome)
	}
	var outs []output
	if out, ok := t.c.g.answer(t.inputs[len(t.inputs)-1], text); ok {
		switch {
		case outcome.Said && len(grown) > 0:
			for _, m := range grown {
				out.Shown = append(out.Shown, m.id)
			}
			grown = nil
		case shown != "" && t.delivery.Final == FinalEdit && out.To == t.address && !t.stream.drafting(): // only a new message ends a draft
			out.Shown, shown = []string{shown}, ""
		}
		out.Bubble, out.Task, out.sign = shown, t.id, t.sign
		outs = append(outs, out)
	}
	if shown != "" {
		outs = append(outs, lastEdit(t.address, shown, t.bubble.end))
	}
	if n := len(grown); n > 0 {
		outs = append(outs, t.stream.interrupted(grown[n-1]))
	}
	return outs
}

// leave gives up a turn that is not open in the log.
func (t *turn) leave(why loop.EndReason) {
	t.stream.halt()
	if shown := t.bubble.finish(loop.Outcome{Reason: why}); shown != "" {
		t.owe(t.c.g.outbox.ctx, lastEdit(t.address, shown, t.bubble.end))
	}
}

// owe commits the last edit of a message after its turn has been closed, or before it was opened. If the log does not
// take it, it is made all the same.
func (t *turn) owe(ctx context.Context, out output) {
	if err := t.c.g.commit(ctx, t.log, sessions.Record{}, out); err != nil {
		t.c.g.log.Debug("the end of a progress message was not recorded", "task", t.id, "error", err)
		t.c.g.replace(out.To, out.Shown[0], out.Pieces[0])
	}
}
