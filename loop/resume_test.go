package loop_test

import (
	"testing"

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
