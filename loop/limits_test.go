package loop_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// different asks for a call that differs from round to round.
func different(n int) []modeltest.Step {
	var steps []modeltest.Step
	for i := range n {
		steps = append(steps, modeltest.Call("echo", fmt.Sprintf(`{"text":"step %d"}`, i)))
	}
	return steps
}

// TestEndConditions: each condition ends the turn for its own reason, after one call without tools.
func TestEndConditions(t *testing.T) {
	slow := func(t *testing.T) tools.Tool {
		return tool(t, tools.Spec{Name: "echo", Risk: tools.ReadOnly}, func(ctx context.Context, text string) (tools.Result, error) {
			select {
			case <-time.After(40 * time.Second):
				return tools.Result{Text: text}, nil
			case <-ctx.Done():
				return tools.Result{}, context.Cause(ctx)
			}
		})
	}
	same := modeltest.Call("echo", `{"text":"same"}`)
	for reason, c := range map[loop.EndReason]struct {
		limits loop.Limits
		steps  []modeltest.Step
		calls  int
		word   string
	}{
		loop.EndRounds:     {loop.Limits{MaxTurns: 2}, different(2), 2, "steps"},
		loop.EndCalls:      {loop.Limits{MaxToolCalls: 3}, different(3), 3, "tool calls"},
		loop.EndTokens:     {loop.Limits{MaxTokens: 25}, different(2), 2, "tokens"},
		loop.EndTimeout:    {loop.Limits{Timeout: time.Minute}, different(2), 2, "time"},
		loop.EndRepetition: {loop.Limits{}, []modeltest.Step{same, modeltest.Call("echo", `{ "text" : "same" }`), same}, 3, "repeating"},
	} {
		t.Run(string(reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(t, "go")
				o, m := play(t, j, &loop.Runner{Limits: c.limits}, registry(t, slow(t)), append(c.steps, modeltest.Text("So far."))...)
				if o.Reason != reason || o.Calls != c.calls || !strings.HasPrefix(o.Text, "So far.") || !strings.Contains(o.Text, c.word) {
					t.Errorf("outcome: %+v", o)
				}
				requests := m.Requests()
				for i, req := range requests {
					if last := i == len(requests)-1; req.NoTools != last {
						t.Errorf("request %d of %d: NoTools is %v", i+1, len(requests), req.NoTools)
					}
				}
				if hint := requests[len(requests)-1].Hint; !strings.Contains(hint, "Do not call tools") {
					t.Errorf("hint of the grace call: %q", hint)
				}
				if stored := fmt.Sprint(j.s.Messages); strings.Contains(stored, "Do not call tools") {
					t.Error("the hint was stored")
				}
			})
		})
	}
}

func TestGraceCallThatFails(t *testing.T) {
	for name, step := range map[string]modeltest.Step{
		"error": modeltest.Fail(loop.ModelOverloaded, 0), "empty": modeltest.Empty(), "tools": modeltest.Call("echo", `{"text":"x"}`),
		"blocks": modeltest.Block("So"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(t, "go")
				o, m := play(t, j, &loop.Runner{Limits: loop.Limits{MaxTurns: 1}}, registry(t, echo(t)),
					modeltest.Call("echo", `{"text":"x"}`), step)
				if o.Reason != loop.EndRounds || !strings.HasPrefix(o.Text, "I stopped here") {
					t.Errorf("outcome: %+v", o)
				}
				if n := len(m.Requests()); n != 2 {
					t.Errorf("%d calls, want 2: the grace call happens once", n)
				}
			})
		})
	}
}

func TestCallsOverBudgetAreSkipped(t *testing.T) {
	j := newJournal(t, "go")
	o, _ := play(t, j, &loop.Runner{Limits: loop.Limits{MaxToolCalls: 2}}, registry(t, echo(t)),
		modeltest.Calls("", call("a", "echo", `{"text":"1"}`), call("b", "echo", `{"text":"2"}`), call("c", "echo", `{"text":"3"}`)),
		modeltest.Text("So far."))
	if o.Reason != loop.EndCalls {
		t.Errorf("outcome: %+v", o)
	}
	want := []sessions.Outcome{sessions.OutcomeOK, sessions.OutcomeOK, sessions.OutcomeSkipped}
	if diff := cmp.Diff(want, j.outcomes()); diff != "" {
		t.Error(diff)
	}
}

func TestModelThatNeverAnswersTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t, "go")
		began := time.Now()
		o, _ := play(t, j, &loop.Runner{Limits: loop.Limits{Timeout: time.Minute}}, registry(t),
			modeltest.Block("thinking"), modeltest.Text("Sorry."))
		if o.Reason != loop.EndTimeout || time.Since(began) != time.Minute || !strings.HasPrefix(o.Text, "Sorry.") {
			t.Errorf("outcome after %v: %+v", time.Since(began), o)
		}
	})
}

func TestTimeoutDuringBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t, "go")
		o, _ := play(t, j, &loop.Runner{Limits: loop.Limits{Timeout: time.Minute}}, registry(t),
			modeltest.Fail(loop.ModelRateLimited, 5*time.Minute), modeltest.Text("Sorry."))
		if o.Reason != loop.EndTimeout {
			t.Errorf("outcome: %+v", o)
		}
	})
}

// TestTokensCountWhatTheTurnAdds: a long history that is sent again with each round costs nothing.
func TestTokensCountWhatTheTurnAdds(t *testing.T) {
	j := newJournal(t, strings.Repeat("old words ", 1000))
	play(t, j, &loop.Runner{}, registry(t), modeltest.Text("ok"))
	j.ended = nil
	j.open("t2", "go")
	o, _ := play(t, j, &loop.Runner{Limits: loop.Limits{MaxTokens: 2000}}, registry(t, echo(t)), append(different(5), modeltest.Text("done"))...)
	if o.Reason != loop.EndAnswered || o.Usage.Input < 10_000 {
		t.Errorf("outcome: %+v", o)
	}
}

// TestClockGoesOnBehindAnApproval: only the waiting itself does not count.
func TestClockGoesOnBehindAnApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sleeper{spec: tools.Spec{Name: "sleep", Risk: tools.Executes}}
		r := &loop.Runner{
			Limits: loop.Limits{Timeout: time.Minute}, Policy: tools.AskByRisk{tools.Executes},
			Approver: &approver{after: time.Hour, decision: tools.Decision{Allowed: true}},
		}
		j := newJournal(t, "go")
		began := time.Now()
		o, _ := play(t, j, r, registry(t, tool(t, s.spec, s.call)), sleeps("40s", "40s"), modeltest.Text("So far."))
		if took := time.Since(began) - 2*time.Hour; o.Reason != loop.EndTimeout || took != time.Minute {
			t.Errorf("outcome after %v: %+v", took, o)
		}
		if diff := cmp.Diff([]sessions.Outcome{sessions.OutcomeOK, sessions.OutcomeTimedOut}, j.outcomes()); diff != "" {
			t.Error(diff)
		}
	})
}
