package loop

import (
	"context"
	"time"
)

// errTimeout is the cause with which the turn's clock ends its context.
const errTimeout = cause("the turn's time is up")

// clock is a turn's wall clock. It stands still while a person is waited for. It belongs to the turn's goroutine.
type clock struct {
	limit   time.Duration
	spent   time.Duration // before the current stretch
	running time.Time     // when the current stretch began; zero = it stands still
	timer   *time.Timer
	cancel  context.CancelCauseFunc
}

// newClock starts a clock and returns the context that ends with errTimeout when it has run for limit.
func newClock(ctx context.Context, limit time.Duration) (*clock, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &clock{limit: limit, cancel: cancel, running: time.Now()}
	c.timer = time.AfterFunc(limit, func() { cancel(errTimeout) })
	return c, ctx
}

func (c *clock) used() time.Duration {
	if c.running.IsZero() {
		return c.spent
	}
	return c.spent + time.Since(c.running)
}

func (c *clock) pause() {
	c.timer.Stop()
	c.spent, c.running = c.used(), time.Time{}
}

func (c *clock) resume() {
	c.running = time.Now()
	c.timer.Reset(max(0, c.limit-c.spent))
}

// stop frees what the clock holds. Its context ends.
func (c *clock) stop() {
	c.timer.Stop()
	c.cancel(context.Canceled)
}
