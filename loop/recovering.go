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
		if t.empties > 1 && !t.fallBack(nil) {
			return t.giveUp(EndEmpty, nil)
		}
		t.log.Info("empty reply, asking again")
		return retry
	}
	class := ModelClass(t.err)
	t.tries++
	t.log.Info("model call failed", "model", t.route.name(), "class", class, "stage", atCall, "try", t.tries, "err", t.err)
	return t.remedy(ctx, class)
}

// remedy does the next thing that the policy has for a class of errors.
func (t *turn) remedy(ctx context.Context, class ErrorClass) signal {
	do := policy[class]
	wait := backoff(t.err, t.tries)
	if do.reload {
		if err := t.route.reload(ctx); err == nil {
			return retry
		} else if err != errFixed {
			t.log.Warn("credentials not loaded again", "err", err)
		}
	}
	switch {
	case do.shorten && !t.compressed:
		return t.shorten(ctx)
	case do.again && t.tries < t.limits.RetryModel && wait <= longestWait:
		return t.wait(ctx, class, wait)
	case do.again && do.next && t.fallBack(t.err):
		return retry
	case do.flatten && t.flatten():
		return retry
	case do.next && t.fallBack(t.err):
		return retry
	}
	return t.giveUp(EndModelFailed, t.err)
}

// wait lets time pass before the same call is made again.
func (t *turn) wait(ctx context.Context, class ErrorClass, wait time.Duration) signal {
	t.emit(Retrying{Class: class, Attempt: t.tries, Wait: wait})
	pause(ctx, wait)
	if on := halted(ctx); on != "" {
		return on
	}
	return retry
}

// fallBack moves to the next model of the chain, because of an error or, if it is nil, of empty replies.
func (t *turn) fallBack(err error) bool {
	from, class := t.route.name(), ErrorClass("empty replies")
	if err != nil {
		class = ModelClass(err)
	}
	if !t.route.next(err) {
		return false
	}
	t.tries, t.empties, t.tidied, t.incompressible = 0, 0, 0, false // its window may be another
	if t.flattened == flatForCall {                                 // it did not help, so the next one gets the history as it is
		t.flattened = asItIs
	}
	t.log.Warn("model given up", "class", class, "from", from, "to", t.route.name(), "err", err)
	t.emit(FellBack{Class: class, From: from, To: t.route.name()})
	return true
}

// flatten simplifies the history for the next call, if it was not and if that makes a difference.
func (t *turn) flatten() bool {
	if t.flattened != asItIs {
		return false
	}
	messages, _ := Repair(t.Journal.Session().Messages)
	if _, changed := flatten(messages); !changed {
		return false
	}
	t.log.Warn("history refused; trying it as plain text", "err", t.err)
	t.flattened = flatForCall
	return true
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
		return t.notShorter(t.err)
	}
	c, err := t.compressor().shorten(ctx, t.Journal.Session(), t.aim())
	if on := halted(ctx); on != "" {
		return on
	}
	if err != nil {
		return t.notShorter(errors.Join(t.err, err))
	}
	if err := t.commitCompaction(ctx, c); err != nil {
		return t.leave(err)
	}
	t.emit(Compacted{Before: c.Before, After: c.After})
	return retry
}

// notShorter goes on with the next model, whose window may be larger, if there is one.
func (t *turn) notShorter(err error) signal {
	if t.fallBack(t.err) {
		return retry
	}
	return t.giveUp(EndModelFailed, err)
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
