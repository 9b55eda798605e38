package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// sessionTool is a SessionTool made of a function.
type sessionTool struct {
	tools.Tool
	call func(ctx context.Context, c loop.SessionCall) (tools.Result, []sessions.Entry, error)
}

func (s sessionTool) CallSession(ctx context.Context, c loop.SessionCall, _ json.RawMessage) (tools.Result, []sessions.Entry, error) {
	return s.call(ctx, c)
}

func inSession(t testing.TB, name string, call func(ctx context.Context, c loop.SessionCall) (tools.Result, []sessions.Entry, error)) tools.Tool {
	plain := tool(t, tools.Spec{Name: name, Risk: tools.ReadOnly}, func(context.Context, string) (tools.Result, error) {
		t.Errorf("%s was called without the session", name)
		return tools.Result{}, nil
	})
	return sessionTool{plain, call}
}

func todos(turn string, content string) sessions.Entry {
	return sessions.TodoChanged{Turn: turn, Items: []sessions.Todo{{ID: "1", Content: content, Status: sessions.TodoPending}}}
}

func TestEntriesAreCommittedWithTheResult(t *testing.T) {
	n := 0
	change := inSession(t, "change", func(_ context.Context, c loop.SessionCall) (tools.Result, []sessions.Entry, error) {
		n++
		if n == 2 {
			return tools.Failf("no"), []sessions.Entry{todos("t1", "of a call that failed")}, nil
		}
		return tools.Result{Text: fmt.Sprintf("the list had %d items", len(c.Session.Todos))}, []sessions.Entry{todos("t1", "go")}, nil
	})
	j := newJournal(t, "go")
	call := func(id int) modeltest.Step { return modeltest.Call("change", fmt.Sprintf(`{"text":"%d"}`, id)) }
	play(t, j, &loop.Runner{}, registry(t, change), call(1), call(2), call(3), modeltest.Text("done"))
	if got := j.results(); got[0] != "the list had 0 items" || got[2] != "the list had 1 items" {
		t.Errorf("results: %q", got)
	}
	if len(j.s.Todos) != 1 || j.s.Todos[0].Content != "go" {
		t.Errorf("the session has %+v", j.s.Todos)
	}
	story := strings.Join(*j.events, ", ")
	if !strings.Contains(story, "Changed, CallEnded c1 ok") || strings.Count(story, "Changed") != 2 {
		t.Errorf("events: %s", story)
	}
	for i, e := range j.entries {
		if _, ok := e.(sessions.TodoChanged); ok {
			if _, ok := j.entries[i-1].(sessions.ToolResult); !ok {
				t.Errorf("entry %d does not follow its result", i)
			}
		}
	}
}

// asker answers every question after a while.
type asker struct{ after time.Duration }

func (a asker) Ask(ctx context.Context, q tools.Question) (tools.Answer, error) {
	select {
	case <-time.After(a.after):
		return tools.Answer{Text: "about " + q.Text}, nil
	case <-ctx.Done():
		return tools.Answer{}, context.Cause(ctx)
	}
}

func TestTheClockStandsStillForAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := inSession(t, "ask", func(ctx context.Context, c loop.SessionCall) (tools.Result, []sessions.Entry, error) {
			a, err := c.Ask(ctx, tools.Question{Text: "tea?"})
			return tools.Result{Text: a.Text}, nil, err
		})
		j := newJournal(t, "go")
		r := &loop.Runner{Asker: asker{4 * time.Minute}, Limits: loop.Limits{Timeout: time.Minute}}
		o, _ := play(t, j, r, registry(t, ask), modeltest.Call("ask", `{"text":""}`), modeltest.Text("done"))
		if o.Reason != loop.EndAnswered || j.results()[0] != "about tea?" {
			t.Errorf("ended by %s with %q", o.Reason, j.results())
		}
	})
}

// delegating is a tool that lets sub-agents do as many tasks as its number says, all at once.
func delegating(t testing.TB, tasks, turns int, sub *tools.Registry, said *sync.Map) tools.Tool {
	return inSession(t, "delegate", func(ctx context.Context, c loop.SessionCall) (tools.Result, []sessions.Entry, error) {
		var wait sync.WaitGroup
		var mu sync.Mutex
		var used sessions.Spent
		for n := 1; n <= tasks; n++ {
			wait.Go(func() {
				o, spent := c.Delegate(ctx, loop.Task{Number: n, System: "sub", Goal: fmt.Sprint("task ", n), MaxTurns: turns, Tools: sub})
				said.Store(n, o)
				mu.Lock()
				defer mu.Unlock()
				used = used.Add(spent)
			})
		}
		wait.Wait()
		return tools.Result{Text: "all done"}, []sessions.Entry{sessions.Delegated{Turn: "t1", Used: used}}, context.Cause(ctx)
	})
}

// byPrompt plays one step for the parent and another for sub-agents.
func byPrompt(parent, sub modeltest.Step) modeltest.Step {
	return func(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
		if req.System == "sub" {
			return sub(ctx, req, onText)
		}
		return parent(ctx, req, onText)
	}
}

func TestSubAgentsDrawOnTheTurnsBudget(t *testing.T) {
	var said sync.Map
	j := newJournal(t, "go")
	// A sub-agent that would go on for ever, with another argument each time.
	endless := func(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
		if req.NoTools {
			return modeltest.Text("so far")(ctx, req, onText)
		}
		return modeltest.Call("echo", fmt.Sprintf(`{"text":"%d"}`, len(req.Messages)))(ctx, req, onText)
	}
	steps := slices.Repeat([]modeltest.Step{byPrompt(modeltest.Text("the end"), endless)}, 40)
	steps = append([]modeltest.Step{modeltest.Call("delegate", `{"text":""}`)}, steps...)
	r := &loop.Runner{Limits: loop.Limits{MaxTurns: 10}}
	o, m := play(t, j, r, registry(t, delegating(t, 3, 50, registry(t, echo(t)), &said)), steps...)
	if o.Reason != loop.EndRounds {
		t.Errorf("the turn ended by %s", o.Reason)
	}
	// Ten rounds of the shared ceiling, of which at most two more a sub-agent were under way, and a grace call each.
	if n := len(m.Requests()); n > 10+2+4 {
		t.Errorf("%d model calls were made", n)
	}
	for n := 1; n <= 3; n++ {
		v, _ := said.Load(n)
		if o := v.(loop.Outcome); o.Reason != loop.EndRounds || !strings.Contains(o.Text, "so far") {
			t.Errorf("sub-agent %d: %+v", n, o)
		}
	}
	last := j.entries[len(j.entries)-1].(sessions.TurnEnded)
	var all sessions.Usage
	for _, e := range j.entries {
		if d, ok := e.(sessions.Delegated); ok {
			all = all.Add(d.Used.Usage)
		}
	}
	if all.Output == 0 || last.Usage.Output <= all.Output {
		t.Errorf("the turn's usage %+v does not include that of its sub-agents, %+v", last.Usage, all)
	}
}

func TestASubAgentHasItsOwnBudget(t *testing.T) {
	var said sync.Map
	j := newJournal(t, "go")
	play(t, j, &loop.Runner{}, registry(t, delegating(t, 1, 1, registry(t, echo(t)), &said)),
		modeltest.Call("delegate", `{"text":""}`), modeltest.Call("echo", `{"text":"x"}`), modeltest.Text("grace"), modeltest.Text("done"))
	v, _ := said.Load(1)
	if o := v.(loop.Outcome); o.Reason != loop.EndRounds || o.Rounds != 2 {
		t.Errorf("the sub-agent ended by %s after %d rounds", o.Reason, o.Rounds)
	}
	if j.s.Total.Input == 0 || len(j.s.Messages) != 4 {
		t.Errorf("%d messages in the turn's ledger", len(j.s.Messages))
	}
}

func TestStopReachesSubAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said sync.Map
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(loop.ErrStopped) })
		j := newJournal(t, "go")
		o, _ := playContext(t, ctx, j, &loop.Runner{}, registry(t, delegating(t, 2, 5, registry(t, echo(t)), &said)),
			modeltest.Call("delegate", `{"text":""}`), modeltest.Block(""), modeltest.Block(""))
		if o.Reason != loop.EndStopped || j.outcomes()[0] != sessions.OutcomeInterrupted {
			t.Errorf("the turn ended by %s, the call as %v", o.Reason, j.outcomes())
		}
		for n := 1; n <= 2; n++ {
			if v, _ := said.Load(n); v.(loop.Outcome).Reason != loop.EndStopped {
				t.Errorf("sub-agent %d: %+v", n, v)
			}
		}
		if !slices.ContainsFunc(j.entries, func(e sessions.Entry) bool { _, ok := e.(sessions.Delegated); return ok }) {
			t.Error("what the sub-agents used is not in the log")
		}
	})
}

// TestARestartDoesNotRefillTheSharedBudget: what sub-agents used before the process died still counts.
func TestARestartDoesNotRefillTheSharedBudget(t *testing.T) {
	j := newJournal(t, "go")
	j.must(
		sessions.AssistantMessage{Turn: "t1", Message: sessions.Message{
			Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{call("c1", "echo", `{"text":"x"}`)},
		}},
		sessions.ToolResult{Turn: "t1", Message: sessions.Message{Role: sessions.RoleTool, ToolCallID: "c1", Text: "x"}, Outcome: sessions.OutcomeOK},
		sessions.Delegated{Turn: "t1", Used: sessions.Spent{Rounds: 9, Usage: sessions.Usage{Output: 7}}},
	)
	o, _ := play(t, j, &loop.Runner{Limits: loop.Limits{MaxTurns: 10}}, registry(t, echo(t)), modeltest.Text("what I have"))
	if o.Reason != loop.EndRounds || o.Rounds != 2 || o.Usage.Output < 7 {
		t.Errorf("ended by %s after %d rounds of its own, %+v", o.Reason, o.Rounds, o.Usage)
	}
}
