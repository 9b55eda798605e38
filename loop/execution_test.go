package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// sleeper is a tool whose text is how long it takes, and that notes when it began and ended.
type sleeper struct {
	spec    tools.Spec
	running atomic.Int32
	most    atomic.Int32
}

func (s *sleeper) call(ctx context.Context, text string) (tools.Result, error) {
	s.most.Store(max(s.most.Load(), s.running.Add(1)))
	defer s.running.Add(-1)
	d, err := time.ParseDuration(text)
	if err != nil {
		return tools.Result{}, err
	}
	select {
	case <-time.After(d):
		return tools.Result{Text: "slept " + text}, nil
	case <-ctx.Done():
		return tools.Result{}, context.Cause(ctx)
	}
}

func sleeps(texts ...string) modeltest.Step {
	var calls []sessions.ToolCall
	for i, text := range texts {
		calls = append(calls, call(string(rune('a'+i)), "sleep", `{"text":"`+text+`"}`))
	}
	return modeltest.Calls("", calls...)
}

func TestParallelCallsCommitInCallOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sleeper{spec: tools.Spec{Name: "sleep", Risk: tools.ReadOnly, Parallel: true}}
		j := newJournal(t, "go")
		began := time.Now()
		play(t, j, &loop.Runner{}, registry(t, tool(t, s.spec, s.call)), sleeps("3s", "1s", "2s"), modeltest.Text("done"))
		if took := time.Since(began); took != 3*time.Second || s.most.Load() != 3 {
			t.Errorf("took %v with at most %d at once", took, s.most.Load())
		}
		if diff := cmp.Diff([]string{"slept 3s", "slept 1s", "slept 2s"}, j.results()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOtherCallsRunInOrder(t *testing.T) {
	path := func(a json.RawMessage) []string {
		var v arguments
		_ = json.Unmarshal(a, &v)
		return []string{"dir/" + strings.TrimLeft(v.Text, "0")}
	}
	for name, c := range map[string]struct {
		spec tools.Spec
		took time.Duration
	}{
		"not parallel":       {tools.Spec{Name: "sleep", Risk: tools.ReadOnly}, 4 * time.Second},
		"writing, same path": {tools.Spec{Name: "sleep", Risk: tools.Writes, Parallel: true, Paths: path}, 3 * time.Second},
		"reading, same path": {tools.Spec{Name: "sleep", Risk: tools.ReadOnly, Parallel: true, Paths: path}, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sleeper{spec: c.spec}
				j := newJournal(t, "go")
				began := time.Now()
				play(t, j, &loop.Runner{}, registry(t, tool(t, s.spec, s.call)), sleeps("1s", "01s", "2s"), modeltest.Text("done"))
				if took := time.Since(began); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
			})
		})
	}
}

func TestToolFailures(t *testing.T) {
	boom := tool(t, tools.Spec{Name: "boom", Parallel: true}, func(_ context.Context, text string) (tools.Result, error) {
		switch text {
		case "panic":
			panic("out of luck")
		case "error":
			return tools.Result{}, errors.New("disk on fire")
		case "empty":
			return tools.Result{}, nil
		case "empty failure":
			return tools.Result{Failed: true}, nil
		}
		return tools.Failf("no such %s", text), nil
	})
	var calls []sessions.ToolCall
	for _, text := range []string{"panic", "error", "empty", "empty failure", "file"} {
		calls = append(calls, call(text, "boom", `{"text":"`+text+`"}`))
	}
	j := newJournal(t, "go")
	o, _ := play(t, j, &loop.Runner{}, registry(t, boom), modeltest.Calls("", calls...), modeltest.Text("done"))
	if o.Reason != loop.EndAnswered {
		t.Errorf("outcome: %+v", o)
	}
	for i, want := range []string{"out of luck", "disk on fire", "returned nothing", "did not say why", "no such file"} {
		if got := j.results()[i]; !strings.Contains(got, want) {
			t.Errorf("result %d: %q, want %q", i, got, want)
		}
	}
	f, ok := sessions.OutcomeFailed, sessions.OutcomeOK
	if diff := cmp.Diff([]sessions.Outcome{f, f, ok, f, f}, j.outcomes()); diff != "" {
		t.Error(diff)
	}
}

func TestCallDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sleeper{spec: tools.Spec{Name: "sleep", Timeout: 10 * time.Second}}
		j := newJournal(t, "go")
		o, _ := play(t, j, &loop.Runner{}, registry(t, tool(t, s.spec, s.call)), sleeps("1h", "1s"), modeltest.Text("done"))
		if o.Reason != loop.EndAnswered {
			t.Errorf("outcome: %+v", o)
		}
		if diff := cmp.Diff([]sessions.Outcome{sessions.OutcomeTimedOut, sessions.OutcomeOK}, j.outcomes()); diff != "" {
			t.Error(diff)
		}
	})
}

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
		want := []sessions.Outcome{sessions.OutcomeOK, sessions.OutcomeUnknown, sessions.OutcomeUnknown}
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
			"RoundStarted 1", "Replied", "AwaitingApproval", "ApprovalOver", "CallEnded c1 interrupted", "Ended stopped",
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

func TestSpecThatPanics(t *testing.T) {
	j := newJournal(t, "go")
	bad := tool(t, tools.Spec{Name: "bad", Preview: func(json.RawMessage) string { panic("no preview") }},
		func(context.Context, string) (tools.Result, error) { return tools.Result{Text: "ran"}, nil })
	o, _ := play(t, j, &loop.Runner{}, registry(t, bad), modeltest.Call("bad", `{"text":"x"}`), modeltest.Text("ok"))
	if o.Reason != loop.EndAnswered || j.outcomes()[0] != sessions.OutcomeFailed {
		t.Errorf("%+v, %v", o, j.outcomes())
	}
}

// TestLongResults: the middle is left out and marked, and the whole can be read from a file.
func TestLongResults(t *testing.T) {
	var lines []string
	for i := range 500 {
		lines = append(lines, strings.Repeat("x", i%7)+" line")
	}
	whole := strings.Join(lines, "\n")
	long := tool(t, tools.Spec{Name: "long"}, func(context.Context, string) (tools.Result, error) { return tools.Result{Text: whole}, nil })
	page := tool(t, tools.Spec{Name: "page", Ranged: true}, func(context.Context, string) (tools.Result, error) {
		return tools.Result{Text: whole}, nil
	})
	j := newJournal(t, "go")
	work := t.TempDir()
	r := &loop.Runner{Model: modeltest.New(
		modeltest.Calls("", call("../l 1", "long", `{"text":""}`), call("p", "page", `{"text":""}`)), modeltest.Text("ok"))}
	r.Run(t.Context(), loop.Turn{ID: "t1", Journal: j, Tools: registry(t, long, page), Scope: tools.Scope{Work: work}})
	got := strings.Split(j.results()[0], "\n")
	if len(got) != 71 || got[0] != lines[0] || got[49] != lines[49] || got[70] != lines[499] {
		t.Errorf("%d lines: %q", len(got), got)
	}
	const file = "results/t1-___l_1.txt"
	if want := "430 lines"; !strings.Contains(got[50], want) || !strings.Contains(got[50], file) || !strings.Contains(got[50], "from line 51 on") {
		t.Errorf("mark: %q", got[50])
	}
	kept, err := os.ReadFile(filepath.Join(work, file))
	if err != nil || string(kept) != whole {
		t.Errorf("kept %d bytes, %v", len(kept), err)
	}
	if j.results()[1] != whole {
		t.Error("the ranged tool's page was cut")
	}
}
