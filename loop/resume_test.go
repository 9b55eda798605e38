package loop_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// crashed returns a journal whose turn was cut off by a crash behind these entries.
func crashed(t *testing.T, entries ...sessions.Entry) *journal {
	j := newJournal(t, "go")
	j.must(entries...)
	return j
}

func asked(calls ...sessions.ToolCall) sessions.Entry {
	return sessions.AssistantMessage{Turn: "t1", Message: sessions.Message{Role: sessions.RoleAssistant, ToolCalls: calls}}
}

func answered(id string) sessions.Entry {
	return sessions.ToolResult{
		Turn: "t1", Outcome: sessions.OutcomeOK, Message: sessions.Message{Role: sessions.RoleTool, ToolCallID: id, Text: "ok"},
	}
}

func resume(t *testing.T, j *journal, limits loop.Limits, steps ...modeltest.Step) loop.Outcome {
	t.Helper()
	r := &loop.Runner{Model: modeltest.New(steps...), Limits: limits}
	return r.Run(t.Context(), loop.Turn{ID: "t1", Journal: j, Tools: registry(t, echo(t)), Scope: tools.Scope{}, Resumed: true})
}

func TestResume(t *testing.T) {
	one := call("a", "echo", `{"text":"1"}`)
	for name, c := range map[string]struct {
		j        *journal
		outcomes []sessions.Outcome
		rounds   int
	}{
		"before the first reply": {crashed(t), nil, 1},
		"in a call": {
			crashed(t, asked(one, call("b", "echo", `{}`)), answered("a")),
			[]sessions.Outcome{sessions.OutcomeOK, sessions.OutcomeUnknown},
			2,
		},
		"between rounds": {crashed(t, asked(one), answered("a")), []sessions.Outcome{sessions.OutcomeOK}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			o := resume(t, c.j, loop.Limits{}, modeltest.Text("done"))
			if o.Reason != loop.EndAnswered || o.Rounds != c.rounds {
				t.Errorf("outcome: %+v", o)
			}
			if diff := cmp.Diff(c.outcomes, c.j.outcomes()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNeverStartedCalls: after a crash, or a restart on purpose, only those calls of a reply whose effects are not known
// are said to be so; the others are said not to have been started.
func TestNeverStartedCalls(t *testing.T) {
	const unknown, unstarted = sessions.OutcomeUnknown, sessions.OutcomeInterrupted
	for name, c := range map[string]struct {
		calls  []sessions.ToolCall
		want   []sessions.Outcome
		parked bool // on purpose
	}{
		"behind the first": {
			[]sessions.ToolCall{call("a", "hang", `{"text":"1"}`), call("b", "write", `{"text":"2"}`), call("c", "echo", `{"text":"3"}`)},
			[]sessions.Outcome{unknown, unstarted, unstarted},
			false,
		},
		"between": {
			[]sessions.ToolCall{call("a", "write", `{"text":"1"}`), call("b", "hang", `{"text":"2"}`), call("c", "write", `{"text":"3"}`)},
			[]sessions.Outcome{sessions.OutcomeOK, unknown, unstarted},
			false,
		},
		"side by side": {
			[]sessions.ToolCall{call("a", "wait", `{"text":"1"}`), call("b", "wait", `{"text":"2"}`), call("c", "wait", `{"txet":"3"}`), call("d", "write", `{"text":"3"}`)},
			[]sessions.Outcome{unknown, unknown, unstarted, unstarted},
			false,
		},
		"parked": {
			[]sessions.ToolCall{call("a", "write", `{"text":"1"}`), call("b", "hang", `{"text":"2"}`), call("c", "write", `{"text":"3"}`)},
			[]sessions.Outcome{sessions.OutcomeOK, unknown, unstarted},
			true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hang := func(ctx context.Context, _ string) (tools.Result, error) {
					<-ctx.Done()
					return tools.Result{}, ctx.Err()
				}
				reg := registry(t, echo(t), tool(t, tools.Spec{Name: "hang", Risk: tools.Writes}, hang),
					tool(t, tools.Spec{Name: "wait", Risk: tools.ReadOnly, Parallel: true}, hang),
					tool(t, tools.Spec{Name: "write", Risk: tools.Writes}, func(context.Context, string) (tools.Result, error) {
						return tools.Result{Text: "written"}, nil
					}))
				j := newJournal(t, "go")
				ctx, cancel := context.WithCancelCause(t.Context())
				over := make(chan struct{})
				go func() {
					defer close(over)
					parked(t, ctx, j, reg, modeltest.Calls("", c.calls...))
				}()
				synctest.Wait()
				before := slices.Clone(j.entries)
				cancel(loop.ErrParked)
				<-over
				if c.parked {
					before = j.entries
				}
				j = &journal{t: t, s: &sessions.Session{Key: "k"}}
				j.must(before...)
				r := &loop.Runner{Model: modeltest.New(modeltest.Text("done"))}
				o := r.Run(t.Context(), loop.Turn{ID: "t1", Journal: j, Tools: reg, Resumed: true})
				if o.Reason != loop.EndAnswered {
					t.Errorf("outcome: %+v", o)
				}
				if diff := cmp.Diff(c.want, j.outcomes()); diff != "" {
					t.Error(diff)
				}
				for i, text := range j.results() {
					if begun := c.want[i] != unstarted; strings.Contains(text, "not started") == begun {
						t.Errorf("call %d: %s", i+1, text)
					}
				}
			})
		})
	}
}

func TestResumeKeepsTheBudget(t *testing.T) {
	j := crashed(t, asked(call("a", "echo", `{}`)), answered("a"))
	if o := resume(t, j, loop.Limits{MaxTurns: 1}, modeltest.Text("So far.")); o.Reason != loop.EndRounds {
		t.Errorf("outcome: %+v", o)
	}
	j = crashed(t, asked(call("a", "echo", `{}`), call("b", "echo", `{}`)))
	if o := resume(t, j, loop.Limits{MaxToolCalls: 2}, modeltest.Text("So far.")); o.Reason != loop.EndCalls || o.Calls != 2 {
		t.Errorf("outcome: %+v", o)
	}
}

func TestResumeBehindTheAnswer(t *testing.T) {
	j := crashed(t, sessions.AssistantMessage{Turn: "t1", Message: sessions.Message{Role: sessions.RoleAssistant, Text: "The answer."}})
	o := resume(t, j, loop.Limits{})
	if o.Reason != loop.EndAnswered || o.Text != "The answer." || len(j.s.Messages) != 2 {
		t.Errorf("outcome: %+v, %v", o, j.s.Messages)
	}
}

func TestTurnThatIsCutOffAgainAndAgainIsClosed(t *testing.T) {
	j := crashed(t)
	for range 2 { // the crash that this start comes after is the third
		j.must(sessions.TurnResumed{Turn: "t1"})
		j.must(sessions.TurnParked{Turn: "t1"}, sessions.TurnResumed{Turn: "t1"}) // a restart on purpose is none
	}
	if o := resume(t, j, loop.Limits{}); o.Reason != loop.EndCrashed || j.ended == nil {
		t.Errorf("outcome: %+v", o)
	}
	j = crashed(t)
	j.must(sessions.TurnResumed{Turn: "t1"})
	if o := resume(t, j, loop.Limits{}, modeltest.Text("done")); o.Reason != loop.EndAnswered {
		t.Errorf("outcome after two crashes: %+v", o)
	}
}

func TestTurnThatIsNotOpenIsLeftAlone(t *testing.T) {
	j := newJournal(t, "go")
	r := &loop.Runner{Model: modeltest.New()}
	if o := r.Run(t.Context(), loop.Turn{ID: "another", Journal: j}); o.Reason != "" || o.Err == nil || j.ended != nil {
		t.Errorf("outcome: %+v", o)
	}
}
