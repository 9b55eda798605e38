package loop

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// tree is what a turn shares with its sub-agents: one ceiling, however many they are, and one clock.
type tree struct {
	limits Limits
	clock  *clock
	rounds atomic.Int64
	calls  atomic.Int64
	tokens atomic.Int64
}

// conditions returns the end conditions of the shared ceiling.
func (s *tree) conditions() []condition {
	used := budget{rounds: int(s.rounds.Load()), calls: int(s.calls.Load()), tokens: int(s.tokens.Load())}
	return ends(used, s.limits)
}

// spend takes what was used into account.
func (s *tree) spend(used budget) {
	s.rounds.Add(int64(used.rounds))
	s.calls.Add(int64(used.calls))
	s.tokens.Add(int64(used.tokens))
}

// callsLeft is how many tool calls the ceiling still has room for.
func (s *tree) callsLeft() int { return s.limits.MaxToolCalls - int(s.calls.Load()) }

// Task is the work of one sub-agent.
type Task struct {
	Number   int    // which of the call's tasks, from 1
	System   string // its prompt
	Goal     string // what it is asked
	MaxTurns int    // model calls of its own budget; 0 = as the turn
	Tools    *tools.Registry
}

// Delegate lets a sub-agent do a task and returns how it ended and what it used. The sub-agent has a ledger of its own,
// which nobody else sees and which is not kept; its own budget, and besides what is left of the turn's; it is stopped
// with the call. Its permissions are asked for in the turn's name. Several tasks of one call may run at once.
func (c SessionCall) Delegate(ctx context.Context, task Task) (Outcome, sessions.Spent) {
	t := c.t
	id := fmt.Sprintf("%s.%s.%d", t.ID, c.Scope.CallID, task.Number)
	journal, err := newScratch(id, t.Scope.Requester, task)
	if err != nil {
		return Outcome{Reason: EndInternal, Err: err}, sessions.Spent{}
	}
	scope := c.Scope
	scope.CallID, scope.Turn, scope.Parent = "", id, t.ID
	sub := newTurn(t.runner, Turn{
		ID: id, Journal: journal, Scope: scope, Tools: task.Tools, Log: t.Log,
		Tape: t.Tape, lane: fmt.Sprintf("%s%s.%d/", t.lane, c.Scope.CallID, task.Number),
		Observe: func(e Event) { c.emit(SubAgent{CallID: c.Scope.CallID, Task: task.Number, Event: e}) },
	})
	sub.tree = t.tree
	if task.MaxTurns > 0 {
		sub.limits.MaxTurns = task.MaxTurns
	}
	within, stop := stoppable(ctx)
	defer stop()
	o := sub.run(within)
	if sub.said { // without what a person would be told about the end
		o.Text = sub.reply.message.Text
	}
	return o, sessions.Spent{Rounds: o.Rounds, Calls: o.Calls, Tokens: sub.budget.tokens, Usage: o.Usage}
}

// stoppable returns a context that ends as if a person had said stop when ctx ends, however that comes about: a
// sub-agent has nothing that could be resumed, and no time of its own after its parent's.
func stoppable(ctx context.Context) (within context.Context, stop func()) {
	within, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() { cancel(ErrStopped) })
	return within, func() {
		release()
		cancel(nil)
	}
}

// scratch is the log of a sub-agent, in memory. It belongs to the sub-agent's goroutine.
type scratch struct{ s *sessions.Session }

func newScratch(id, requester string, task Task) (*scratch, error) {
	declared, err := Declare(task.Tools)
	if err != nil {
		return nil, err
	}
	j := &scratch{&sessions.Session{Key: sessions.Key(id)}}
	return j, j.write(
		sessions.TurnStarted{Turn: id, Requester: requester, At: time.Now()},
		sessions.PromptBuilt{System: task.System, Tools: declared},
		sessions.UserMessage{Turn: id, Message: sessions.Message{Role: sessions.RoleUser, Text: task.Goal}},
	)
}

func (j *scratch) write(entries ...sessions.Entry) error {
	return j.s.Apply(sessions.Record{Revision: j.s.Revision + 1, At: time.Now(), Entries: entries})
}

// Session implements Journal.
func (j *scratch) Session() *sessions.Session { return j.s }

// Append implements Journal.
func (j *scratch) Append(_ context.Context, entries ...sessions.Entry) error {
	return j.write(entries...)
}

// End implements Journal.
func (j *scratch) End(_ context.Context, o Outcome, entries ...sessions.Entry) error {
	if o.Reason == "" {
		return errors.New("a sub-agent ended without a reason")
	}
	return j.write(entries...)
}
