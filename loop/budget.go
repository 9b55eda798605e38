package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// budget is what a turn has used. It is seeded from the log, so a restart does not refill it.
type budget struct {
	rounds int // model replies
	calls  int // tool calls
	tokens int // output, and input that the turn appended
}

// seedBudget reads a turn's use so far from the folded session.
func seedBudget(s *sessions.Session) budget {
	b := budget{rounds: s.Turn.Rounds, calls: s.Turn.Calls, tokens: s.Turn.Usage.Output}
	b.tokens += calibrate(s).apply(estimateInput(s.Messages[min(s.Turn.From, len(s.Messages)):]))
	return b
}

// estimateInput guesses the tokens of those messages that no model wrote.
func estimateInput(messages []sessions.Message) int {
	n := 0
	for _, m := range messages {
		if m.Role != sessions.RoleAssistant {
			n += estimate(m)
		}
	}
	return n
}

// condition is one end condition of a turn and how near it is; times count in milliseconds.
type condition struct {
	reason EndReason
	used   int
	limit  int
}

func (c condition) holds() bool    { return c.used >= c.limit }
func (c condition) String() string { return fmt.Sprintf("%s %d/%d", c.reason, c.used, c.limit) }

// conditions returns every end condition that Observing checks, in the order of precedence. A final text, a stop and a
// failed model end a turn elsewhere, by their own transitions.
func (t *turn) conditions() []condition {
	return []condition{
		{EndTimeout, int(t.clock.used().Milliseconds()), int(t.limits.Timeout.Milliseconds())},
		{EndRepetition, t.repeated.count, t.limits.RepeatThreshold},
		{EndRounds, t.budget.rounds, t.limits.MaxTurns},
		{EndCalls, t.budget.calls, t.limits.MaxToolCalls},
		{EndTokens, t.budget.tokens, t.limits.MaxTokens},
	}
}

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
