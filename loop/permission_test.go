package loop_test

import (
	"context"
	"encoding/json"
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

// approver answers after a while.
type approver struct {
	after    time.Duration
	decision tools.Decision
	asked    []tools.Ask
}

func (a *approver) Approve(ctx context.Context, ask tools.Ask) (tools.Decision, error) {
	a.asked = append(a.asked, ask)
	select {
	case <-time.After(a.after):
		return a.decision, nil
	case <-ctx.Done():
		return tools.Decision{}, context.Cause(ctx)
	}
}

func TestApproval(t *testing.T) {
	spec := tools.Spec{
		Name: "run", Risk: tools.Executes, Parallel: true,
		Preview: func(a json.RawMessage) string { return "would run " + string(a) },
	}
	for name, c := range map[string]struct {
		approver tools.Approver
		want     sessions.Outcome
		text     string
	}{
		"allowed": {&approver{after: time.Hour, decision: tools.Decision{Allowed: true}}, sessions.OutcomeOK, "ran"},
		"denied":  {&approver{after: time.Hour, decision: tools.Decision{Note: "denied by Ada"}}, sessions.OutcomeDenied, "denied by Ada"},
		"nobody":  {nil, sessions.OutcomeDenied, "nobody can be asked"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := tool(t, spec, func(context.Context, string) (tools.Result, error) { return tools.Result{Text: "ran"}, nil })
				j := newJournal(t, "go")
				r := &loop.Runner{Policy: tools.AskByRisk{tools.Executes}, Approver: c.approver, Limits: loop.Limits{Timeout: time.Minute}}
				o, _ := play(t, j, r, registry(t, run),
					modeltest.Calls("", call("a", "run", `{"text":"x"}`), call("b", "run", `{"text":"y"}`)), modeltest.Text("done"))
				if o.Reason != loop.EndAnswered {
					t.Errorf("waiting for a person used up the turn's time: %+v", o)
				}
				if diff := cmp.Diff([]sessions.Outcome{c.want, c.want}, j.outcomes()); diff != "" {
					t.Error(diff)
				}
				if got := j.results()[0]; !strings.Contains(got, c.text) {
					t.Errorf("result: %q", got)
				}
				if a, ok := c.approver.(*approver); ok && (len(a.asked) != 2 || a.asked[0].Preview != `would run {"text":"x"}` || a.asked[1].Scope.CallID != "b") {
					t.Errorf("asked: %+v", a.asked)
				}
			})
		})
	}
}

func TestStopWhileAPersonIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := tool(t, tools.Spec{Name: "run", Risk: tools.Executes}, func(context.Context, string) (tools.Result, error) {
			t.Error("it ran")
			return tools.Result{}, nil
		})
		j := newJournal(t, "go")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(loop.ErrStopped) })
		r := &loop.Runner{Policy: tools.AskByRisk{tools.Executes}, Approver: &approver{after: time.Hour}}
		o, _ := playContext(t, ctx, j, r, registry(t, run), modeltest.Call("run", `{"text":"x"}`))
		if o.Reason != loop.EndStopped {
			t.Errorf("outcome: %+v", o)
		}
		want := []string{
			"RoundStarted 1", "ModelReturned", "Replied", "AwaitingApproval", "ApprovalOver", "CallEnded c1 interrupted", "Ended stopped",
		}
		if diff := cmp.Diff(want, *j.events); diff != "" {
			t.Error(diff)
		}
	})
}

type denyAll struct{}

func (denyAll) Judge(tools.Scope, tools.Spec, json.RawMessage) tools.Judgement {
	return tools.Judgement{Verdict: tools.DenyAlways, Reason: "never here"}
}

func TestPolicyThatDenies(t *testing.T) {
	j := newJournal(t, "go")
	play(t, j, &loop.Runner{Policy: denyAll{}}, registry(t, echo(t)), modeltest.Call("echo", `{"text":"x"}`), modeltest.Text("ok"))
	if j.outcomes()[0] != sessions.OutcomeDenied || !strings.Contains(j.results()[0], "never here") {
		t.Errorf("%v: %q", j.outcomes(), j.results())
	}
}
