package loop

import (
	"context"
	"errors"

	"github.com/talaria-agent/talaria/sessions"
)

// tidy keeps the history within its thresholds before a model call: at the first one old results are pruned, at the second
// the middle becomes a summary. It happens at most once between two replies, and after a summary not before a provider
// has measured what became of the prompt. A signal means that the turn cannot go on.
func (t *turn) tidy(ctx context.Context) signal {
	c, s := t.compressor(), t.Journal.Session()
	if c == nil || t.ending != "" || s.Turn == nil || len(s.Turn.Open) > 0 || s.Unjudged > 0 || t.tidied == t.budget.rounds+1 {
		return ""
	}
	var out sessions.Compaction
	err := ErrNothingToCompress
	full := c.fills(s, c.SummarizeAt, defaultSummarizeAt) || len(s.Messages) > c.maxMessages()
	if full && !t.incompressible {
		unhurried, stop := Unhurried(ctx)
		out, err = c.Compress(unhurried, s, t.aim())
		stop()
	}
	if on := halted(ctx); on != "" && err != nil {
		return on
	}
	if err != nil && full && !t.incompressible {
		t.incompressible = true
		t.log.Info("history not summarised", "err", err)
	}
	if errors.Is(err, ErrNothingToCompress) && c.fills(s, c.PreflightAt, defaultPreflightAt) {
		out, err = c.Prune(s)
	}
	if err != nil {
		return ""
	}
	before := ContextTokens(s)
	if err := t.commitCompaction(ctx, out); err != nil {
		return t.leave(err)
	}
	t.tidied, t.repeated.known = t.budget.rounds+1, nil // what was read may have to be read again
	t.emit(Compacted{Before: before, After: out.After, Pruned: out.Before == 0})
	return ""
}

// Compress compresses the history of a conversation in which no turn runs, as Compressor.Compress does; what the notes lack
// of it is noted first. work is the turn that it comes before, or that it takes the place of: its ID names the work, and its
// Journal gets the notes, whereas the Compaction is returned and for the caller to append. Its Scope, Tools, Tape and Log
// are used, too.
func (r *Runner) Compress(ctx context.Context, work Turn, focus string) (sessions.Compaction, error) {
	if r.Compressor == nil {
		return sessions.Compaction{}, ErrNothingToCompress
	}
	t := newTurn(r, work)
	aim := t.aim()
	aim.Focus = focus
	return r.Compressor.Compress(ctx, t.Journal.Session(), aim)
}

// aim is what a compression within the turn, or before it, aims at.
func (t *turn) aim() Aim {
	return Aim{Work: t.Scope.Work, Flush: t.flush, tape: t.Tape, lane: t.lane}
}

// flush notes what is about to leave the history. A sub-agent has no notes to take.
func (t *turn) flush(ctx context.Context) {
	if t.Scope.Parent != "" {
		return
	}
	err := t.runner.Flush(ctx, Flush{
		ID: t.ID + ".notes", Session: t.Journal.Session(), Scope: t.Scope, Tools: t.Tools, Keep: t.commitNotes, Log: t.Log,
		tape: t.Tape, lane: t.lane + "notes/",
	})
	if err != nil {
		t.log.Info("not everything may have been noted", "err", err)
	}
}

// Unhurried returns a context that ends as ctx does, but not because a newer message supersedes the turn: a compression
// that is under way is worth finishing, since the next turn would have to begin it anew. stop frees it.
func Unhurried(ctx context.Context) (unhurried context.Context, stop func()) {
	unhurried, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); cause != ErrSuperseded {
			cancel(cause)
		}
	})
	return unhurried, func() { release(); cancel(nil) }
}
