package loop

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	backoffBase = 2 * time.Second
	backoffCap  = time.Minute
	longestWait = 10 * time.Minute // that a provider can ask for; the turn ends rather than wait longer
)

// recover decides after a call that gave nothing usable: try again, perhaps later, or give up.
func (t *turn) recover(ctx context.Context) signal {
	if t.ending != "" {
		t.log.Warn("grace call failed", "err", t.err)
		return t.giveUp(t.ending, t.err)
	}
	if t.err == nil {
		t.empties++
		if t.empties > 1 {
			return t.giveUp(EndEmpty, nil)
		}
		t.log.Info("empty reply, asking again")
		return retry
	}
	class := ModelClass(t.err)
	t.tries++
	t.log.Info("model call failed", "class", class, "try", t.tries, "err", t.err)
	if class == ModelTooLong && !t.compressed {
		return t.shorten(ctx)
	}
	wait := backoff(t.err, t.tries)
	if !class.Retryable() || t.tries >= t.limits.RetryModel || wait > longestWait {
		return t.giveUp(EndModelFailed, t.err)
	}
	t.emit(Retrying{Class: class, Attempt: t.tries, Wait: wait})
	pause(ctx, wait)
	if on := halted(ctx); on != "" {
		return on
	}
	return retry
}

// giveUp ends the turn: with the answer that was held back if there is one, otherwise for a reason.
func (t *turn) giveUp(reason EndReason, err error) signal {
	if t.draft != nil {
		t.log.Info("the answer that was held back is the answer", "why", reason, "err", err)
		t.reply = *t.draft
		t.outcome = t.answer()
		return gaveUp
	}
	t.outcome = Outcome{Reason: reason, Err: err}
	return gaveUp
}

// shorten compresses the history after the provider found it too long.
func (t *turn) shorten(ctx context.Context) signal {
	t.compressed = true
	if t.runner.Compressor == nil {
		return t.giveUp(EndModelFailed, t.err)
	}
	c, err := t.runner.Compressor.shorten(ctx, t.Journal.Session())
	if on := halted(ctx); on != "" {
		return on
	}
	if err != nil {
		return t.giveUp(EndModelFailed, errors.Join(t.err, err))
	}
	if err := t.commitCompaction(ctx, c); err != nil {
		return t.leave(err)
	}
	t.emit(Compacted{Before: c.Before, After: c.After})
	return retry
}

// backoff returns how long to wait after the n-th failed try: what the provider asked for, otherwise twice as long each
// time, between half and the whole of it, so that turns which failed together do not come back together.
func backoff(err error, try int) time.Duration {
	var e *ModelError
	if errors.As(err, &e) && e.Wait > 0 {
		return e.Wait
	}
	full := min(backoffBase<<min(try-1, 10), backoffCap)
	return full/2 + rand.N(full/2)
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}
