package loop_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
)

func TestRetryAfterProviderFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t, "hello")
		began := time.Now()
		o, _ := play(t, j, &loop.Runner{}, registry(t),
			modeltest.Fail(loop.ModelOverloaded, 0), modeltest.Fail(loop.ModelRateLimited, 90*time.Second), modeltest.Text("Hi."))
		if o.Reason != loop.EndAnswered || o.Rounds != 1 {
			t.Errorf("outcome: %+v", o)
		}
		if took := time.Since(began); took < 91*time.Second || took > 92*time.Second {
			t.Errorf("took %v: the first wait is 1 to 2 s, the second what the provider asked for", took)
		}
		want := []string{"RoundStarted 1", "ModelReturned", "Retrying", "RoundStarted 1", "ModelReturned", "Retrying", "RoundStarted 1", "ModelReturned", "Replied", "Ended answered"}
		if diff := cmp.Diff(want, *j.events); diff != "" {
			t.Error(diff)
		}
	})
}

func TestProviderFailuresThatEndTheTurn(t *testing.T) {
	for class, word := range map[loop.ErrorClass]string{
		loop.ModelRateLimited: "limiting", loop.ModelOverloaded: "not be reached", loop.ModelNetwork: "not be reached",
		loop.ModelTooLong: "too long", loop.ModelBadRequest: "refused", loop.ModelAuth: "access key",
		loop.ModelQuota: "quota", loop.ModelFiltered: "content filter",
	} {
		t.Run(string(class), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var steps []modeltest.Step
				tries := 1
				if class.Retryable() {
					tries = 3
				}
				for range tries {
					steps = append(steps, modeltest.Fail(class, 0))
				}
				j := newJournal(t, "hello")
				o, m := play(t, j, &loop.Runner{}, registry(t), steps...)
				if o.Reason != loop.EndModelFailed || !strings.Contains(o.Text, word) || loop.ModelClass(o.Err) != class {
					t.Errorf("outcome: %+v", o)
				}
				if n := len(m.Requests()); n != tries {
					t.Errorf("%d calls, want %d", n, tries)
				}
				if last := j.s.Messages[len(j.s.Messages)-1]; last.Text != o.Text {
					t.Errorf("the ledger ends with %q", last.Text)
				}
			})
		})
	}
}

func TestTooLongAWaitIsNotWaited(t *testing.T) {
	j := newJournal(t, "hello")
	o, _ := play(t, j, &loop.Runner{}, registry(t), modeltest.Fail(loop.ModelRateLimited, time.Hour))
	if o.Reason != loop.EndModelFailed {
		t.Errorf("outcome: %+v", o)
	}
}

func TestBackoffIsInterruptible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t, "hello")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Second, func() { cancel(loop.ErrStopped) })
		began := time.Now()
		o, _ := playContext(t, ctx, j, &loop.Runner{}, registry(t), modeltest.Fail(loop.ModelRateLimited, 5*time.Minute))
		if o.Reason != loop.EndStopped || time.Since(began) != 10*time.Second {
			t.Errorf("outcome after %v: %+v", time.Since(began), o)
		}
	})
}

func TestEmptyReply(t *testing.T) {
	j := newJournal(t, "hello")
	o, _ := play(t, j, &loop.Runner{}, registry(t), modeltest.Empty(), modeltest.Text("Hi."))
	if o.Reason != loop.EndAnswered || o.Rounds != 1 {
		t.Errorf("outcome: %+v", o)
	}
	j = newJournal(t, "hello")
	o, _ = play(t, j, &loop.Runner{}, registry(t), modeltest.Empty(), modeltest.Empty())
	if o.Reason != loop.EndEmpty || !strings.Contains(o.Text, "empty answer") {
		t.Errorf("outcome: %+v", o)
	}
}

// call makes a tool call.
func call(id, name, arguments string) sessions.ToolCall {
	return sessions.ToolCall{ID: id, Name: name, Arguments: arguments}
}

// TestBrokenCalls: what cannot run is answered with a structured error, and its siblings run.
func TestBrokenCalls(t *testing.T) {
	for name, c := range map[string]struct {
		call sessions.ToolCall
		want []string // in the result
	}{
		"cut":       {call("x", "echo", `{"text":"/t`), []string{"not a JSON object", `{\"text\":\"/t`}},
		"null":      {call("x", "echo", `null`), []string{"not a JSON object"}},
		"list":      {call("x", "echo", `[1]`), []string{"not a JSON object"}},
		"two":       {call("x", "echo", `{"text":"a"}{"text":"b"}`), []string{"not a JSON object"}},
		"unknown":   {call("x", "ecoh", `{"text":"a"}`), []string{"no such tool", `"did_you_mean":["echo"]`}},
		"blank":     {call("x", "echo", ` `), []string{`"argument":"text"`, "missing", "string"}},
		"misspelt":  {call("x", "echo", `{"txt":"a"}`), []string{`"argument":"txt"`, "no such argument", `call it \"text\"`}},
		"type":      {call("x", "echo", `{"text":5}`), []string{`"argument":"text"`, "of type integer", `write \"5\"`}},
		"null text": {call("x", "echo", `{"text":null}`), []string{"of type null", `"expected":"string"`}},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJournal(t, "go")
			o, _ := play(t, j, &loop.Runner{}, registry(t, echo(t)),
				modeltest.Calls("", c.call, call("y", "echo", `{"text":"sibling"}`)), modeltest.Text("done"))
			if o.Reason != loop.EndAnswered {
				t.Errorf("outcome: %+v", o)
			}
			got := j.results()
			for _, want := range c.want {
				if !strings.Contains(got[0], want) {
					t.Errorf("result %q does not contain %q", got[0], want)
				}
			}
			if got[1] != "sibling" {
				t.Errorf("the sibling's result: %q", got[1])
			}
			if diff := cmp.Diff([]sessions.Outcome{sessions.OutcomeRefused, sessions.OutcomeOK}, j.outcomes()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCallsCutByTheOutputLimitNeverRun(t *testing.T) {
	j := newJournal(t, "go")
	cut := loop.Reply{Finish: loop.FinishLength, Message: sessions.Message{
		Role: sessions.RoleAssistant, Text: "I write", ToolCalls: []sessions.ToolCall{
			call("a", "echo", `{"text":"whole"}`), call("b", "echo", `{"text":"ha`),
		},
	}}
	o, _ := play(t, j, &loop.Runner{}, registry(t, echo(t)), modeltest.Reply(cut), modeltest.Text("done"))
	if o.Reason != loop.EndAnswered {
		t.Errorf("outcome: %+v", o)
	}
	for _, r := range j.results() {
		if !strings.Contains(r, "output limit") {
			t.Errorf("result: %q", r)
		}
	}
}

func TestTextCutByTheOutputLimitSaysSo(t *testing.T) {
	j := newJournal(t, "go")
	o, _ := play(t, j, &loop.Runner{}, registry(t), modeltest.Reply(loop.Reply{
		Finish: loop.FinishLength, Message: sessions.Message{Role: sessions.RoleAssistant, Text: "A long"},
	}))
	if o.Reason != loop.EndAnswered || !strings.Contains(o.Text, "output limit") {
		t.Errorf("outcome: %+v", o)
	}
}

func TestNamesAndIDsAreMadeFitForTheLedger(t *testing.T) {
	j := newJournal(t, "go")
	o, _ := play(t, j, &loop.Runner{}, registry(t, echo(t)),
		modeltest.Calls("", call("", "", `{}`), call("", "echo", `{"text":"1"}`), call("a", "echo", `{"text":"2"}`),
			call("a", "echo", `{"text":"3"}`)),
		modeltest.Calls("", call("a", " echo ", `{"text":"4"}`)),
		modeltest.Text("done"))
	if o.Reason != loop.EndAnswered {
		t.Errorf("outcome: %+v", o)
	}
	if diff := cmp.Diff([]string{"1", "2", "3", "4"}, j.results()); diff != "" {
		t.Error(diff)
	}
	ids := map[string]bool{}
	for _, m := range j.s.Messages {
		for _, c := range m.ToolCalls {
			if c.ID == "" || ids[c.ID] {
				t.Errorf("id %q is empty or taken", c.ID)
			}
			ids[c.ID] = true
		}
	}
}

func TestOnlyNamelessCallsIsAnEmptyReply(t *testing.T) {
	j := newJournal(t, "go")
	nameless := modeltest.Calls("", call("a", " ", `{}`))
	o, _ := play(t, j, &loop.Runner{}, registry(t), nameless, nameless)
	if o.Reason != loop.EndEmpty {
		t.Errorf("outcome: %+v", o)
	}
}

func TestPanicInTheModelEndsTheTurnOnly(t *testing.T) {
	j := newJournal(t, "go")
	o, _ := play(t, j, &loop.Runner{}, registry(t),
		func(context.Context, loop.Request, func(string)) (loop.Reply, error) { panic("boom") })
	if o.Reason != loop.EndInternal || strings.Contains(o.Text, "boom") || j.ended == nil {
		t.Errorf("outcome: %+v", o)
	}
}

func TestLogLost(t *testing.T) {
	for writes := 2; writes <= 4; writes++ {
		j := newJournal(t, "go")
		j.refuseAt = j.writes + writes - 1
		r := &loop.Runner{Model: modeltest.New(modeltest.Call("echo", `{"text":"a"}`), modeltest.Text("done"))}
		o := r.Run(t.Context(), loop.Turn{ID: "t1", Journal: j, Tools: registry(t, echo(t)), Observe: j.observe})
		if o.Reason != "" || o.Err == nil {
			t.Errorf("write %d refused: %+v", writes, o)
		}
		if last := (*j.events)[len(*j.events)-1]; strings.HasPrefix(last, "Ended") {
			t.Errorf("write %d refused, and the observer was told of an end", writes)
		}
	}
}

func TestAnswerThatTheProviderWithheld(t *testing.T) {
	j := newJournal(t, "go")
	o, _ := play(t, j, &loop.Runner{}, registry(t), modeltest.Reply(loop.Reply{
		Finish: loop.FinishFiltered, Message: sessions.Message{Role: sessions.RoleAssistant, Text: "half of"},
	}))
	if o.Reason != loop.EndModelFailed || !strings.Contains(o.Text, "content filter") {
		t.Errorf("outcome: %+v", o)
	}
}

// TestFaultyLedgerIsRepairedForTheRequest: a log that another hand left behind does not make the provider refuse.
func TestFaultyLedgerIsRepairedForTheRequest(t *testing.T) {
	j := newJournal(t, "first")
	j.must(sessions.TurnEnded{Turn: "t1"}) // without an answer
	j.open("t2", "second")
	m := modeltest.New(modeltest.Text("Both."))
	r := &loop.Runner{Model: m}
	o := r.Run(t.Context(), loop.Turn{ID: "t2", Journal: j})
	if o.Reason != loop.EndAnswered {
		t.Errorf("outcome: %+v", o)
	}
	want := []sessions.Message{user("first\n\nsecond")}
	if diff := cmp.Diff(want, m.Requests()[0].Messages); diff != "" {
		t.Error(diff)
	}
}

func TestNothingToAnswer(t *testing.T) {
	j := &journal{t: t, s: &sessions.Session{Key: "k"}}
	j.must(sessions.TurnStarted{Turn: "t1"})
	m := modeltest.New()
	r := &loop.Runner{Model: m}
	o := r.Run(t.Context(), loop.Turn{ID: "t1", Journal: j})
	if o.Reason != loop.EndInternal || j.ended == nil || len(m.Requests()) != 0 {
		t.Errorf("outcome: %+v", o)
	}
}
