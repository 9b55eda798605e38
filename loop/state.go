package loop

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// This file is the state layer: the only one that writes the log. What is written here is written even if the turn has
// just been cancelled; a turn that loses the log stops at once.

const (
	unknownAfterRestart = "The outcome of this call is not known: the program was restarted while it ran. " +
		"It may have taken effect. Check before repeating it."
	notStartedAfterRestart = "This call was not started, because the program was restarted before it. Call it again if it is still needed."
	notAnswered            = "(There is no answer: this was interrupted.)"
)

// commitReply writes a reply that has tool calls, with the plan of them, before any of them runs.
func (t *turn) commitReply(ctx context.Context) error {
	e := t.replyEntry(t.reply.message)
	e.Plan = t.planned.noted()
	return t.Journal.Append(context.WithoutCancel(ctx), e)
}

func (t *turn) replyEntry(m sessions.Message) sessions.AssistantMessage {
	return sessions.AssistantMessage{Turn: t.ID, Message: m, Usage: t.reply.usage, Model: t.route.name()}
}

// commitResults writes the results of calls, in call order.
func (t *turn) commitResults(ctx context.Context, results []finished) error {
	var entries []sessions.Entry
	for _, f := range results {
		entries = append(append(entries, t.resultEntry(f.call.ID, f.text, f.outcome)), f.entries...)
		if f.aside != (sessions.Spent{}) {
			entries = append(entries, sessions.Delegated{Turn: t.ID, Used: f.aside})
		}
	}
	if err := t.Journal.Append(context.WithoutCancel(ctx), entries...); err != nil {
		return err
	}
	for _, f := range results {
		t.spend(budget{tokens: f.aside.Tokens})
		t.cost.usd += f.cost
	}
	for _, e := range entries {
		switch e := e.(type) {
		case sessions.ToolResult:
			t.spend(budget{tokens: t.ratio.apply(estimate(e.Message))})
		case sessions.Delegated: // the budgets have it already
			t.usage = t.usage.Add(e.Used.Usage)
		}
	}
	return nil
}

func (t *turn) resultEntry(call, text string, outcome sessions.Outcome) sessions.ToolResult {
	m := sessions.Message{Role: sessions.RoleTool, ToolCallID: call, Text: text}
	return sessions.ToolResult{Turn: t.ID, Message: m, Outcome: outcome}
}

// commitResumed writes that the turn goes on after a crash, and closes the calls that were open then, up to the first one
// that can be made again because a person is still to be asked about it.
func (t *turn) commitResumed(ctx context.Context) error {
	entries := []sessions.Entry{sessions.TurnResumed{Turn: t.ID, Within: t.Within, At: time.Now()}}
	open := t.Journal.Session().Turn
	again, unstarted := open.Unstarted()
	for _, c := range open.Open {
		if slices.Contains(again, c) {
			break
		}
		outcome, text := cutOff(slices.Contains(unstarted, c))
		t.log.Info("call cut off by a restart", "call", c.ID, "tool", c.Name, "outcome", outcome)
		entries = append(entries, t.resultEntry(c.ID, text, outcome))
	}
	return t.Journal.Append(context.WithoutCancel(ctx), entries...)
}

// cutOff is the result of a call that was open when the process died and is not made again.
func cutOff(unstarted bool) (sessions.Outcome, string) {
	if unstarted {
		return sessions.OutcomeInterrupted, notStartedAfterRestart
	}
	return sessions.OutcomeUnknown, unknownAfterRestart
}

// steer writes down what people have said since the last step, so that the next model call sees it.
func (t *turn) steer(ctx context.Context) error {
	if t.Steer == nil {
		return nil
	}
	e, ok := t.Steer()
	if !ok {
		return nil
	}
	if err := t.Journal.Append(context.WithoutCancel(ctx), e); err != nil {
		return err
	}
	t.spend(budget{tokens: t.ratio.apply(estimate(e.Message))})
	t.emit(TakenIn{Text: e.Message.Text})
	return nil
}

// commitParked writes that the turn is left open on purpose. If that cannot be written, going on with it counts as after
// a crash.
func (t *turn) commitParked(ctx context.Context) {
	if err := t.Journal.Append(context.WithoutCancel(ctx), sessions.TurnParked{Turn: t.ID, At: time.Now()}); err != nil {
		t.log.Warn("that the turn is parked could not be written down", "err", err)
	}
}

// commitCompaction replaces the ledger by a shorter one.
func (t *turn) commitCompaction(ctx context.Context, c sessions.Compaction) error {
	return t.Journal.Append(context.WithoutCancel(ctx), c)
}

// commitNotes writes changes of notes that the turn made in passing and not by a call. They are marked as the turn's: other
// notes can be taken beside it.
func (t *turn) commitNotes(ctx context.Context, entries ...sessions.Entry) error {
	for i, e := range entries {
		if n, ok := e.(sessions.NotesChanged); ok {
			n.Turn = t.ID
			entries[i] = n
		}
	}
	return t.Journal.Append(context.WithoutCancel(ctx), entries...)
}

// commitFlattened replaces the ledger by one without tool calls. It is no compression, so it is not judged as one.
func (t *turn) commitFlattened(ctx context.Context) error {
	s := t.Journal.Session()
	messages, _ := Repair(s.Messages)
	messages, _ = flatten(messages)
	t.flattened = flatForGood
	t.log.Warn("the history was simplified, because the provider refused it as it was", "messages", len(messages))
	c := carry(s)
	c.Messages, c.Turn = messages, turnIn(s, messages)
	return t.commitCompaction(ctx, c)
}

// finish closes the turn, exactly once: open calls, the closing assistant message, the end, in one commit.
func (t *turn) finish(ctx context.Context) Outcome {
	t.settle(ctx)
	if t.left != nil {
		if t.left == ErrParked {
			t.commitParked(ctx)
		}
		t.log.Info("turn left open", "why", t.left, "rounds", t.budget.rounds)
		return Outcome{Err: t.left, Usage: t.usage, Rounds: t.budget.rounds, Calls: t.budget.calls}
	}
	if err := t.Journal.End(context.WithoutCancel(ctx), t.outcome, t.closing()...); err != nil {
		t.log.Error("turn not ended: the log did not take it", "err", err)
		return Outcome{Err: err, Usage: t.usage, Rounds: t.budget.rounds, Calls: t.budget.calls}
	}
	level := slog.LevelInfo
	if t.outcome.Err != nil {
		level = slog.LevelWarn
	}
	t.log.Log(ctx, level, "turn ended", "reason", t.outcome.Reason, "rounds", t.outcome.Rounds, "calls", t.outcome.Calls,
		"tokens_in", t.usage.Input, "tokens_out", t.usage.Output, "cost_usd", t.cost, "took", t.clock.used(),
		"err", t.outcome.Err)
	t.emit(Ended{Outcome: t.outcome})
	return t.outcome
}

// settle fixes the outcome. Until the commit a turn can still be stopped or superseded; a finished answer is not parked.
func (t *turn) settle(ctx context.Context) {
	switch by := context.Cause(ctx); {
	case t.left != nil || by == nil:
	case by == ErrStopped:
		t.outcome, t.said = Outcome{Reason: EndStopped}, false
	case by == ErrSuperseded:
		t.outcome, t.said = Outcome{Reason: EndSuperseded}, false
	case t.outcome.Reason == "":
		t.left = by
	}
	if t.outcome.Text == "" {
		t.outcome.Text = sentence(t.outcome)
	}
	t.outcome.Usage, t.outcome.Rounds, t.outcome.Calls = t.usage, t.budget.rounds, t.budget.calls
}

// closing returns the last entries of the turn. The ledger always ends with an assistant message, so that the next user
// message has its place; where nothing is said to the person, a note for the model stands there.
func (t *turn) closing() []sessions.Entry {
	s := t.Journal.Session()
	var entries []sessions.Entry
	unstarted := slices.Concat(s.Turn.Unstarted())
	for _, c := range s.Turn.Open { // only after a panic; whatever ends a turn otherwise has closed them
		if slices.Contains(unstarted, c) {
			entries = append(entries, t.resultEntry(c.ID, notStartedText, sessions.OutcomeInterrupted))
		} else {
			entries = append(entries, t.resultEntry(c.ID, lostResult, sessions.OutcomeUnknown))
		}
	}
	last := sessions.Message{Role: sessions.RoleUser}
	if n := len(s.Messages); n > 0 {
		last = s.Messages[n-1]
	}
	if last.Role != sessions.RoleAssistant || len(entries) > 0 {
		m := sessions.Message{Role: sessions.RoleAssistant, Text: t.outcome.Text}
		if m.Blank() {
			m.Text = notAnswered
		}
		entries = append(entries, t.closingReply(m))
	}
	end := sessions.TurnEnded{
		Turn: t.ID, Reason: string(t.outcome.Reason), Usage: t.usage, Rounds: t.budget.rounds, At: time.Now(),
	}
	if t.outcome.Err != nil {
		end.Error = t.outcome.Err.Error()
	}
	return append(entries, end)
}

// closingReply is the entry of the closing message: with the model's name and count if the model wrote it.
func (t *turn) closingReply(m sessions.Message) sessions.AssistantMessage {
	if t.said {
		m.Reasoning = t.reply.message.Reasoning
		return t.replyEntry(m)
	}
	return sessions.AssistantMessage{Turn: t.ID, Message: m}
}
