package loop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// asks returns a step for each text that calls the tool echo with it.
func asks(name string, texts ...string) []modeltest.Step {
	var steps []modeltest.Step
	for _, text := range texts {
		steps = append(steps, modeltest.Call(name, fmt.Sprintf(`{"text":%q}`, text)))
	}
	return steps
}

// TestWrongArgumentsAreCorrectedTwice: the third wrong call in a row is told to go on without, with the last error; a
// right one still runs, and whoever goes on guessing finds the tool unavailable.
func TestWrongArgumentsAreCorrectedTwice(t *testing.T) {
	wrong := func(i int) modeltest.Step { return modeltest.Call("echo", fmt.Sprintf(`{"txt":"%d"}`, i)) }
	t.Run("then right", func(t *testing.T) {
		j := newJournal(t, "go")
		play(t, j, &loop.Runner{}, registry(t, echo(t)), wrong(1), wrong(2), wrong(3), asks("echo", "right")[0], wrong(4), modeltest.Text("done"))
		got := j.results()
		for i, gaveUp := range []bool{false, false, true, false, false} {
			if strings.Contains(got[i], "Go on without it") != gaveUp {
				t.Errorf("result %d: %s", i, got[i])
			}
		}
		if !strings.Contains(got[2], `"argument":"txt"`) || !strings.Contains(got[2], "3 times in a row") || got[3] != "right" {
			t.Errorf("results: %q", got[2:4])
		}
	})
	t.Run("for ever", func(t *testing.T) {
		j := newJournal(t, "go")
		var steps []modeltest.Step
		for i := range 5 {
			steps = append(steps, wrong(i))
		}
		steps = append(steps, asks("echo", "right")[0], modeltest.Text("done"))
		play(t, j, &loop.Runner{}, registry(t, echo(t)), steps...)
		if last := j.results()[5]; !strings.Contains(last, "unavailable in this task") {
			t.Errorf("result: %s", last)
		}
	})
	t.Run("at once", func(t *testing.T) {
		j := newJournal(t, "go")
		bad := func(id string) sessions.ToolCall { return call(id, "echo", `{"txt":"x"}`) }
		play(t, j, &loop.Runner{}, registry(t, echo(t)), modeltest.Calls("", bad("a"), bad("b"), bad("c")), modeltest.Text("done"))
		if last := j.results()[2]; strings.Contains(last, "Go on without it") {
			t.Errorf("calls of one reply count more than once: %s", last)
		}
	})
}

// TestCircuitBreaker: after three failures in a row a tool is not called any more, and the model is told what to use
// instead. The tool stays declared. What a command reports, or a wrong name, is no failure of the tool.
func TestCircuitBreaker(t *testing.T) {
	runs := 0
	flaky := func(result func(text string) (tools.Result, error)) *tools.Registry {
		runs = 0
		spec := tools.Spec{Name: "fetch", Risk: tools.ReadOnly, Substitute: "echo"}
		return registry(t, echo(t), tool(t, spec, func(_ context.Context, text string) (tools.Result, error) {
			runs++
			return result(text)
		}))
	}
	for name, c := range map[string]struct {
		result func(string) (tools.Result, error)
		opens  bool
	}{
		"failed results": {func(string) (tools.Result, error) { return tools.Failf("no"), nil }, true},
		"errors":         {func(string) (tools.Result, error) { return tools.Result{}, errors.New("no") }, true},
		"panics":         {func(string) (tools.Result, error) { panic("no") }, true},
		"wrong names":    {func(string) (tools.Result, error) { return tools.Wrongf("not there"), nil }, false},
		"exit status": {func(string) (tools.Result, error) {
			return tools.Result{Text: "1", Failed: true, Class: tools.FailCommand}, nil
		}, false},
		"a success between": {func(text string) (tools.Result, error) {
			if text == "2" {
				return tools.Result{Text: "yes"}, nil
			}
			return tools.Failf("no"), nil
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJournal(t, "go")
			_, m := play(t, j, &loop.Runner{}, flaky(c.result), append(asks("fetch", "1", "2", "3", "4"), modeltest.Text("done"))...)
			last := j.results()[3]
			if opened := strings.Contains(last, "unavailable in this task, use echo"); opened != c.opens {
				t.Errorf("result: %s", last)
			}
			if (runs == 3) != c.opens {
				t.Errorf("%d runs", runs)
			}
			requests := m.Requests()
			if !bytes.Equal(requests[0].Tools, requests[4].Tools) {
				t.Error("the declarations changed")
			}
		})
	}
}

// TestPassingTroubleIsRetried by the runtime, unless the call may have had its effect already.
func TestPassingTroubleIsRetried(t *testing.T) {
	reset := fmt.Errorf("read: %w", syscall.ECONNRESET)
	refused := fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	for name, c := range map[string]struct {
		err   error
		risk  tools.Risk
		fails int
		tries int
		took  time.Duration
		ok    bool
	}{
		"cut while reading":     {reset, tools.ReadOnly, 1, 2, time.Second, true},
		"cut while writing":     {reset, tools.Writes, 1, 1, 0, false},
		"refused while writing": {refused, tools.Writes, 2, 3, 3 * time.Second, true},
		"refused for ever":      {refused, tools.ReadOnly, 9, 3, 3 * time.Second, false},
		"rate limit":            {&tools.Trouble{Class: tools.FailRateLimit, Wait: 20 * time.Second, Err: errors.New("429")}, tools.ReadOnly, 1, 2, 20 * time.Second, true},
		"harmless":              {&tools.Trouble{Class: tools.FailTimeout, Harmless: true, Err: errors.New("queue")}, tools.Executes, 1, 2, time.Second, true},
		"too long a wait":       {&tools.Trouble{Class: tools.FailRateLimit, Wait: time.Hour, Err: errors.New("429")}, tools.ReadOnly, 1, 1, 0, false},
		"no such disk":          {errors.New("disk on fire"), tools.ReadOnly, 1, 1, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				made := tool(t, tools.Spec{Name: "fetch", Risk: c.risk}, func(context.Context, string) (tools.Result, error) {
					if tries++; tries <= c.fails {
						return tools.Result{}, c.err
					}
					return tools.Result{Text: "there"}, nil
				})
				j := newJournal(t, "go")
				began := time.Now()
				play(t, j, &loop.Runner{}, registry(t, made), asks("fetch", "x")[0], modeltest.Text("done"))
				if took := time.Since(began); tries != c.tries || took != c.took || (j.results()[0] == "there") != c.ok {
					t.Errorf("%d tries in %v: %q", tries, took, j.results())
				}
			})
		})
	}
}

// TestBatchDeadline: after seven minutes no more calls of one reply are started; what waited for a person does not count.
func TestBatchDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sleeper{spec: tools.Spec{Name: "sleep", Risk: tools.ReadOnly}}
		j := newJournal(t, "go")
		o, _ := play(t, j, &loop.Runner{}, registry(t, tool(t, s.spec, s.call)), sleeps("4m", "4m", "1s", "1s"), modeltest.Text("done"))
		if o.Reason != loop.EndAnswered {
			t.Errorf("outcome: %+v", o)
		}
		ok, skipped := sessions.OutcomeOK, sessions.OutcomeSkipped
		if diff := cmp.Diff([]sessions.Outcome{ok, ok, skipped, skipped}, j.outcomes()); diff != "" {
			t.Error(diff)
		}
		if last := j.results()[3]; !strings.Contains(last, "took too long") {
			t.Errorf("result: %s", last)
		}
	})
}

// TestMeaningIsChecked: arguments that match the schema can still be impossible.
func TestMeaningIsChecked(t *testing.T) {
	logs := tool(t, tools.Spec{
		Name: "logs", Risk: tools.ReadOnly,
		Check: func(raw json.RawMessage) []tools.Problem {
			var a arguments
			if err := json.Unmarshal(raw, &a); err != nil {
				return []tools.Problem{{Problem: err.Error()}}
			}
			return tools.CheckTime("text", a.Text)
		},
	}, func(_ context.Context, text string) (tools.Result, error) {
		return tools.Result{Text: "since " + text}, nil
	})
	j := newJournal(t, "go")
	play(t, j, &loop.Runner{}, registry(t, logs), append(asks("logs", "yesterday afternoon", "2026-05-01T12:00:00Z"), modeltest.Text("done"))...)
	got := j.results()
	for _, want := range []string{`"argument":"text"`, `yesterday afternoon`, "RFC 3339"} {
		if !strings.Contains(got[0], want) {
			t.Errorf("result %q lacks %q", got[0], want)
		}
	}
	if got[1] != "since 2026-05-01T12:00:00Z" {
		t.Errorf("result %q", got[1])
	}
}

// TestFailuresAreClassedInTheLog, with the stage at which they arose.
func TestFailuresAreClassedInTheLog(t *testing.T) {
	var log bytes.Buffer
	r := &loop.Runner{Log: slog.New(slog.NewTextHandler(&log, nil))}
	broken := tool(t, tools.Spec{Name: "broken", Risk: tools.ReadOnly}, func(context.Context, string) (tools.Result, error) {
		return tools.Result{}, fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	})
	synctest.Test(t, func(t *testing.T) {
		play(t, newJournal(t, "go"), r, registry(t, broken),
			modeltest.Calls("", call("a", "broken", `{"text":"x"}`), call("b", "broken", `{}`), call("c", "nope", `{}`)), modeltest.Text("done"))
	})
	for _, want := range []string{
		`tool=broken class="refused connection" stage=execution`, "tool=broken class=arguments stage=parse", "tool=nope class=arguments stage=call",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
}

// TestLongJSONIsReadable: one value a line, so that head and tail mean something.
func TestLongJSONIsReadable(t *testing.T) {
	long := `{"rows":[` + strings.TrimSuffix(strings.Repeat(`{"id":12345678901234567890,"ok":true},`, 40), ",") + `]}`
	short := `{"id":1}`
	j := newJournal(t, "go")
	quoted, _ := json.Marshal(map[string]string{"text": long})
	play(t, j, &loop.Runner{}, registry(t, echo(t)),
		modeltest.Calls("", call("a", "echo", string(quoted)), call("b", "echo", `{"text":"{\"id\":1}"}`)), modeltest.Text("done"))
	got := j.results()
	if !strings.HasPrefix(got[0], "{\n  \"rows\": [\n    {\n      \"id\": 12345678901234567890,") || !strings.Contains(got[0], "lines (") {
		t.Errorf("result: %.200s", got[0])
	}
	if got[1] != short {
		t.Errorf("result: %s", got[1])
	}
}
