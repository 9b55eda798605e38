package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// TestOneGiantLine: what is left out of a single line can be found in the file, by the byte.
func TestOneGiantLine(t *testing.T) {
	giant := tool(t, tools.Spec{Name: "giant"}, func(context.Context, string) (tools.Result, error) {
		return tools.Result{Text: strings.Repeat("x", 1<<20) + "end"}, nil
	})
	j := newJournal(t, "go")
	r := &loop.Runner{Model: modeltest.New(modeltest.Call("giant", `{"text":""}`), modeltest.Text("ok"))}
	r.Run(t.Context(), loop.Turn{ID: "t1", Journal: j, Tools: registry(t, giant), Scope: tools.Scope{Work: t.TempDir()}})
	got := j.results()[0]
	head, rest, _ := strings.Cut(got, "\n")
	if want := fmt.Sprintf("from line 1, byte %d on", len(head)); len(got) > 60_000 || !strings.Contains(rest, want) || !strings.HasSuffix(rest, "xend") {
		t.Errorf("%d bytes, %q ... %q, want %q", len(got), rest[:min(len(rest), 300)], rest[max(0, len(rest)-10):], want)
	}
}
