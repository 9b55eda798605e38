package loop_test

import (
	"context"
	"errors"
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

// TestStop: running calls are interrupted, calls that did not start say so, and the ledger is closed.
func TestStop(t *testing.T) {
	for _, c := range []struct {
		by     error
		reason loop.EndReason
		says   bool
	}{{loop.ErrStopped, loop.EndStopped, true}, {loop.ErrSuperseded, loop.EndSuperseded, false}} {
		synctest.Test(t, func(t *testing.T) {
			s := &sleeper{spec: tools.Spec{Name: "sleep"}}
			j := newJournal(t, "go")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(5*time.Second, func() { cancel(c.by) })
			began := time.Now()
			o, _ := playContext(t, ctx, j, &loop.Runner{}, registry(t, tool(t, s.spec, s.call)), sleeps("1s", "1h", "1s"))
			if o.Reason != c.reason || (o.Text != "") != c.says || time.Since(began) != 5*time.Second {
				t.Errorf("outcome after %v: %+v", time.Since(began), o)
			}
			want := []sessions.Outcome{sessions.OutcomeOK, sessions.OutcomeInterrupted, sessions.OutcomeInterrupted}
			if diff := cmp.Diff(want, j.outcomes()); diff != "" {
				t.Error(diff)
			}
			if n := len(j.s.Messages); j.s.Messages[n-1].Role != sessions.RoleAssistant {
				t.Error("the ledger is not closed")
			}
		})
	}
}

func TestStopDuringTheModelCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t, "go")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(loop.ErrStopped) })
		o, _ := playContext(t, ctx, j, &loop.Runner{}, registry(t), modeltest.Block("half a"))
		if o.Reason != loop.EndStopped || strings.Contains(o.Text, "half") {
			t.Errorf("outcome: %+v", o)
		}
	})
}

// TestToolThatDoesNotStop: after five seconds its outcome is unknown, its late result is dropped, and until it ends
// its conversation starts no other call with effects.
func TestToolThatDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		stubborn := tool(t, tools.Spec{Name: "stubborn", Risk: tools.Executes}, func(context.Context, string) (tools.Result, error) {
			<-end
			return tools.Result{Text: "late"}, nil
		})
		r := &loop.Runner{}
		reg := registry(t, stubborn, echo(t))
		j := newJournal(t, "go")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(loop.ErrSuperseded) })
		began := time.Now()
		playContext(t, ctx, j, r, reg, modeltest.Call("stubborn", `{"text":"x"}`))
		if time.Since(began) != 6*time.Second {
			t.Errorf("waited %v", time.Since(began))
		}
		j.ended = nil
		j.open("t2", "again")
		play(t, j, r, reg, modeltest.Calls("", call("p", "stubborn", `{"text":"x"}`), call("q", "echo", `{"text":"x"}`)), modeltest.Text("ok"))
		close(end)
		r.Wait()
		if diff := cmp.Diff([]sessions.Outcome{sessions.OutcomeUnknown, sessions.OutcomeRefused, sessions.OutcomeOK}, j.outcomes()); diff != "" {
			t.Error(diff)
		}
		if all := strings.Join(j.results(), "\n"); strings.Contains(all, "late") || !strings.Contains(all, "may still complete") {
			t.Errorf("results: %s", all)
		}
		j.ended = nil
		j.open("t3", "again")
		play(t, j, r, reg, modeltest.Call("stubborn", `{"text":"x"}`), modeltest.Text("ok"))
		if got := j.outcomes(); got[len(got)-1] != sessions.OutcomeOK {
			t.Errorf("after it ended: %v", got)
		}
	})
}

// TestDeadlineThatIsIgnored: within a turn, too, no call with effects starts beside one that would not stop.
func TestDeadlineThatIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stubborn := tool(t, tools.Spec{Name: "stubborn", Risk: tools.Writes, Timeout: time.Second}, func(context.Context, string) (tools.Result, error) {
			time.Sleep(time.Minute)
			return tools.Result{Text: "late"}, nil
		})
		r := &loop.Runner{}
		j := newJournal(t, "go")
		o, _ := play(t, j, r, registry(t, stubborn, echo(t)),
			modeltest.Calls("", call("a", "stubborn", `{"text":""}`), call("b", "stubborn", `{"text":""}`), call("c", "echo", `{"text":""}`)),
			modeltest.Text("done"))
		r.Wait()
		if o.Reason != loop.EndAnswered {
			t.Errorf("outcome: %+v", o)
		}
		want := []sessions.Outcome{sessions.OutcomeUnknown, sessions.OutcomeRefused, sessions.OutcomeOK}
		if diff := cmp.Diff(want, j.outcomes()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestPanicWhileCallsAreOpen: the turn ends, and the log says that their outcome is not known.
func TestPanicWhileCallsAreOpen(t *testing.T) {
	j := newJournal(t, "go")
	r := &loop.Runner{Model: modeltest.New(modeltest.Call("echo", `{"text":"x"}`))}
	o := r.Run(t.Context(), loop.Turn{ID: "t1", Journal: j, Tools: registry(t, echo(t)), Observe: func(e loop.Event) {
		if _, ok := e.(loop.CallStarted); ok {
			panic("the observer is broken")
		}
	}})
	if o.Reason != loop.EndInternal || j.ended == nil {
		t.Errorf("outcome: %+v", o)
	}
	if diff := cmp.Diff([]sessions.Outcome{sessions.OutcomeUnknown}, j.outcomes()); diff != "" {
		t.Error(diff)
	}
}

// TestPark: what is done is committed, what is not stays open, and nothing ends.
func TestPark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sleeper{spec: tools.Spec{Name: "sleep"}}
		reg := registry(t, tool(t, s.spec, s.call))
		j := newJournal(t, "go")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(5*time.Second, func() { cancel(loop.ErrParked) })
		o, _ := parked(t, ctx, j, reg, sleeps("1s", "1h", "1s"))
		if o.Reason != "" || !errors.Is(o.Err, loop.ErrParked) || j.ended != nil || len(j.s.Turn.Open) != 2 || !j.s.Turn.Parked {
			t.Fatalf("outcome: %+v, open: %v", o, j.s.Turn)
		}

		r := &loop.Runner{Model: modeltest.New(modeltest.Text("I checked."))}
		o = r.Run(t.Context(), loop.Turn{ID: "t1", Journal: j, Tools: reg, Resumed: true, Observe: j.observe})
		if o.Reason != loop.EndAnswered || o.Rounds != 2 || o.Calls != 3 {
			t.Errorf("outcome: %+v", o)
		}
		want := []sessions.Outcome{sessions.OutcomeOK, sessions.OutcomeUnknown, sessions.OutcomeInterrupted}
		if diff := cmp.Diff(want, j.outcomes()); diff != "" {
			t.Error(diff)
		}
		if got := j.results()[1]; !strings.Contains(got, "Check before repeating it") {
			t.Errorf("result: %q", got)
		}
	})
}

func parked(t *testing.T, ctx context.Context, j *journal, reg *tools.Registry, steps ...modeltest.Step) (loop.Outcome, *modeltest.Model) {
	t.Helper()
	m := modeltest.New(steps...)
	r := &loop.Runner{Model: m}
	return r.Run(ctx, loop.Turn{ID: "t1", Journal: j, Tools: reg, Observe: j.observe}), m
}
