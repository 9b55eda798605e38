package loop

import (
	"fmt"

	"github.com/talaria-agent/talaria/sessions"
)

// budget is what a turn has used. It is seeded from the log, so a restart does not refill it.
type budget struct {
	rounds int // model replies
	calls  int // tool calls
	tokens int // output, and input that the turn appended
}

// seedBudget reads a turn's use so far from the folded session.
func seedBudget(s *sessions.Session, ratio calibration) budget {
	b := budget{rounds: s.Turn.Rounds, calls: s.Turn.Calls, tokens: s.Turn.Usage.Output}
	b.tokens += ratio.apply(estimateInput(s.Messages[min(s.Turn.From, len(s.Messages)):]))
	return b
}

// spend takes what was used into account, in the turn's own budget and in the one that it shares.
func (t *turn) spend(used budget) {
	t.budget.rounds += used.rounds
	t.budget.calls += used.calls
	t.budget.tokens += used.tokens
	t.tree.spend(used)
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
	all := []condition{
		{EndTimeout, int(t.clock.used().Milliseconds()), int(t.limits.Timeout.Milliseconds())},
		{EndRepetition, t.repeated.equal(), t.limits.RepeatThreshold},
	}
	if t.clock.parent != nil { // a sub-agent has a budget of its own within the shared one
		all = append(all, ends(t.budget, t.limits)...)
	}
	return append(all, t.tree.conditions()...)
}

// ends returns the end conditions of a budget.
func ends(used budget, limits Limits) []condition {
	return []condition{
		{EndRounds, used.rounds, limits.MaxTurns},
		{EndCalls, used.calls, limits.MaxToolCalls},
		{EndTokens, used.tokens, limits.MaxTokens},
	}
}
