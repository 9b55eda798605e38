package loop_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// journal is a log in memory that folds what it takes, encoded and decoded on the way, as a store would.
type journal struct {
	t        testing.TB
	s        *sessions.Session
	entries  []sessions.Entry
	events   *[]string
	ended    *loop.Outcome
	refuseAt int // fail the n-th write from here on, 0 = never
	writes   int
}

func newJournal(t testing.TB, text string) *journal {
	t.Helper()
	j := &journal{t: t, s: &sessions.Session{Key: "k"}}
	j.open("t1", text)
	return j
}

func (j *journal) open(turn, text string) {
	j.t.Helper()
	j.must(
		sessions.TurnStarted{Turn: turn, Requester: "u", At: time.Now()},
		sessions.UserMessage{Turn: turn, Message: sessions.Message{Role: sessions.RoleUser, Text: text}},
	)
}

func (j *journal) must(entries ...sessions.Entry) {
	j.t.Helper()
	if err := j.write(entries); err != nil {
		j.t.Fatal(err)
	}
}

func (j *journal) write(entries []sessions.Entry) error {
	j.writes++
	if j.refuseAt > 0 && j.writes >= j.refuseAt {
		return sessions.ErrStale
	}
	data, err := sessions.Record{At: time.Now(), Entries: entries}.Encode()
	if err != nil {
		return err
	}
	r, err := sessions.DecodeRecord(data, j.s.Revision+1)
	if err != nil {
		return err
	}
	if err := j.s.Apply(r); err != nil {
		j.t.Errorf("apply: %v", err)
		return err
	}
	j.entries = append(j.entries, r.Entries...)
	return nil
}

func (j *journal) Session() *sessions.Session { return j.s }

func (j *journal) Append(ctx context.Context, entries ...sessions.Entry) error {
	if ctx.Err() != nil {
		j.t.Errorf("append with an ended context")
	}
	return j.write(entries)
}

func (j *journal) End(ctx context.Context, o loop.Outcome, entries ...sessions.Entry) error {
	if ctx.Err() != nil {
		j.t.Errorf("end with an ended context")
	}
	if j.ended != nil {
		j.t.Errorf("end called twice")
	}
	if err := j.write(entries); err != nil {
		return err
	}
	if j.s.Turn != nil {
		j.t.Errorf("the turn is still open after its end")
	}
	j.ended = &o
	return nil
}

// outcomes returns the outcomes of all results in the log, in order.
func (j *journal) outcomes() []sessions.Outcome {
	var all []sessions.Outcome
	for _, e := range j.entries {
		if r, ok := e.(sessions.ToolResult); ok {
			all = append(all, r.Outcome)
		}
	}
	return all
}

// results returns the texts of all results in the log, in order.
func (j *journal) results() []string {
	var all []string
	for _, e := range j.entries {
		if r, ok := e.(sessions.ToolResult); ok {
			all = append(all, r.Message.Text)
		}
	}
	return all
}

// story returns what an observer saw, one word or two an event.
func (j *journal) observe(e loop.Event) {
	if j.events == nil {
		j.events = new([]string)
	}
	line := strings.TrimPrefix(fmt.Sprintf("%T", e), "loop.")
	switch e := e.(type) {
	case loop.TextDelta:
		return
	case loop.RoundStarted:
		line += fmt.Sprintf(" %d", e.Round)
	case loop.Nudged:
		line += " " + string(e.Why)
	case loop.CallStarted:
		line += " " + e.CallID
	case loop.CallEnded:
		line += fmt.Sprintf(" %s %s", e.CallID, e.Outcome)
	case loop.Ended:
		line += " " + string(e.Outcome.Reason)
	}
	*j.events = append(*j.events, line)
}

// tool is a tool made of a function that takes the raw argument "text".
type arguments struct {
	Text string `json:"text"`
}

func tool(t testing.TB, spec tools.Spec, call func(ctx context.Context, text string) (tools.Result, error)) tools.Tool {
	t.Helper()
	made, err := tools.New(spec, func(ctx context.Context, _ tools.Scope, a arguments) (tools.Result, error) {
		return call(ctx, a.Text)
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func echo(t testing.TB) tools.Tool {
	return tool(t, tools.Spec{Name: "echo", Risk: tools.ReadOnly, Parallel: true},
		func(_ context.Context, text string) (tools.Result, error) { return tools.Result{Text: text}, nil })
}

func registry(t testing.TB, all ...tools.Tool) *tools.Registry {
	t.Helper()
	r, err := tools.NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// play runs a script on a journal's open turn.
func play(t testing.TB, j *journal, r *loop.Runner, reg *tools.Registry, steps ...modeltest.Step) (loop.Outcome, *modeltest.Model) {
	t.Helper()
	return playContext(t, context.Background(), j, r, reg, steps...)
}

func playContext(t testing.TB, ctx context.Context, j *journal, r *loop.Runner, reg *tools.Registry, steps ...modeltest.Step) (loop.Outcome, *modeltest.Model) {
	t.Helper()
	m := modeltest.New(steps...)
	r.Model = m
	o := r.Run(ctx, loop.Turn{
		ID: j.s.Turn.ID, Journal: j, Tools: reg, Observe: j.observe,
		Scope: tools.Scope{Conversation: "k", Requester: "u", Work: t.TempDir()},
	})
	if err := m.Broken(); err != nil {
		t.Errorf("the model refused: %v", err)
	}
	if err := loop.CheckLedger(j.s.Messages); err != nil {
		t.Errorf("ledger after the turn: %v", err)
	}
	return o, m
}
