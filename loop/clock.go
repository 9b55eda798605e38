package loop

import (
	"context"
	"sync"
	"time"
)

// errTimeout is the cause with which the turn's clock ends its context.
const errTimeout = cause("the turn's time is up")

// clock is a turn's wall clock. It stands still while a person is waited for, on its own account or on that of a
// sub-agent. It may be used from any goroutine.
type clock struct {
	limit  time.Duration
	parent *clock // of the turn that a sub-agent works for; nil = none

	mu      sync.Mutex
	waiting int           // for how many answers
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
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elapsed()
}

func (c *clock) elapsed() time.Duration {
	if c.running.IsZero() {
		return c.spent
	}
	return c.spent + time.Since(c.running)
}

func (c *clock) pause() {
	if c.parent != nil {
		c.parent.pause()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting++; c.waiting == 1 {
		c.timer.Stop()
		c.spent, c.running = c.elapsed(), time.Time{}
	}
}

func (c *clock) resume() {
	if c.parent != nil {
		c.parent.resume()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting--; c.waiting == 0 {
		c.running = time.Now()
		c.timer.Reset(max(0, c.limit-c.spent))
	}
}

// stop frees what the clock holds. Its context ends.
func (c *clock) stop() {
	c.timer.Stop()
	c.cancel(context.Canceled)
}
