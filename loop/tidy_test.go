package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// TestPrune: old results become notes, equal ones stay once, long arguments are shortened, and nobody's words change.
func TestPrune(t *testing.T) {
	j := talk(t, 10, 8000)
	turn := "writes"
	j.open(turn, "write it")
	long, _ := json.Marshal(map[string]any{"path": "a.txt", "content": strings.Repeat("line ", 400), "n": 7, "deep": []any{map[string]any{"x": strings.Repeat("y", 500)}}})
	same := strings.Repeat("the very same ", 50)
	j.must(
		sessions.AssistantMessage{Turn: turn, Message: sessions.Message{Role: sessions.RoleAssistant, Text: "I write.", ToolCalls: []sessions.ToolCall{call("w", "write", string(long)), call("s1", "look", `{}`)}}},
		sessions.ToolResult{Turn: turn, Message: sessions.Message{Role: sessions.RoleTool, ToolCallID: "w", Text: "written"}},
		sessions.ToolResult{Turn: turn, Message: sessions.Message{Role: sessions.RoleTool, ToolCallID: "s1", Text: same}},
		sessions.AssistantMessage{Turn: turn, Message: sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{call("s2", "look", `{}`)}}},
		sessions.ToolResult{Turn: turn, Message: sessions.Message{Role: sessions.RoleTool, ToolCallID: "s2", Text: same}},
		sessions.AssistantMessage{Turn: turn, Message: assistant("done")}, sessions.TurnEnded{Turn: turn})
	for i := range 6 {
		turn := fmt.Sprintf("tail%d", i)
		j.open(turn, "tail question")
		j.must(sessions.AssistantMessage{Turn: turn, Message: assistant(strings.Repeat("tail ", 1200))}, sessions.TurnEnded{Turn: turn})
	}
	out, err := loop.NewCompressor(nil, 40_000, 0).Prune(j.s)
	if err != nil {
		t.Fatal(err)
	}
	if out.Count != 0 || out.Before != 0 || len(out.Messages) != len(j.s.Messages) {
		t.Errorf("compaction: count %d, before %d, %d messages", out.Count, out.Before, len(out.Messages))
	}
	j.must(out)
	if err := loop.CheckLedger(j.s.Messages); err != nil {
		t.Error(err)
	}
	all := ""
	for i, m := range j.s.Messages {
		all += m.Text + "\n"
		if m.Role == sessions.RoleTool && len(m.Text) > 400 {
			t.Errorf("message %d still has %d bytes", i, len(m.Text))
		}
		for _, c := range m.ToolCalls {
			if len(c.Arguments) > 800 || !json.Valid([]byte(c.Arguments)) || c.ID == "w" && !strings.Contains(c.Arguments, `"n":7`) {
				t.Errorf("arguments: %s", c.Arguments)
			}
		}
	}
	for _, want := range []string{"question 3", "answer 3", "It began: hay 3 hay 3", "I write.", strings.Repeat("tail ", 1200)} {
		if !strings.Contains(all, want) {
			t.Errorf("lost: %.80q", want)
		}
	}
	if n := strings.Count(all, same); n > 1 {
		t.Errorf("the equal results stand there %d times", n)
	}
	if _, err := loop.NewCompressor(nil, 40_000, 0).Prune(j.s); !errors.Is(err, loop.ErrNothingToCompress) {
		t.Errorf("a second time: %v", err)
	}
}

// TestRepeatedResultsInTheTail: the newest of equal results stays, wherever the others are.
func TestRepeatedResultsInTheTail(t *testing.T) {
	j := newJournal(t, "look")
	same := strings.Repeat("the very same ", 400)
	for i := range 4 {
		id := fmt.Sprintf("s%d", i)
		j.must(asked(call(id, "look", `{}`)), sessions.ToolResult{Turn: "t1", Message: sessions.Message{Role: sessions.RoleTool, ToolCallID: id, Text: same}})
	}
	out, err := loop.NewCompressor(nil, 200_000, 0).Prune(j.s)
	if err != nil {
		t.Fatal(err)
	}
	n := len(out.Messages)
	if out.Messages[n-1].Text != same || !strings.Contains(out.Messages[2].Text, "exactly the same") || out.Turn == nil {
		t.Errorf("messages: %.60q ... %.60q", out.Messages[2].Text, out.Messages[n-1].Text)
	}
}

// TestThresholdsInsideATurn: below the first nothing happens, above it old results are pruned without a model call, above
// the second the middle is summarised; and the turn goes on with its request.
func TestThresholdsInsideATurn(t *testing.T) {
	for name, c := range map[string]struct {
		turns  int // of about 1,100 tokens
		pruned bool
		summed bool
	}{"below": {15, false, false}, "prune": {22, true, false}, "summarise": {30, false, true}} {
		t.Run(name, func(t *testing.T) {
			j := talk(t, c.turns, 4000)
			j.open("t1", "the request")
			summariser := modeltest.New(modeltest.Text(notes))
			r := &loop.Runner{Compressor: loop.NewCompressor(summariser, 40_000, 0)}
			var events []loop.Compacted
			m := modeltest.New(asks("echo", "x")[0], modeltest.Text("done"))
			r.Model = m
			o := r.Run(t.Context(), loop.Turn{ID: "t1", Journal: j, Tools: registry(t, echo(t)), Observe: func(e loop.Event) {
				if e, ok := e.(loop.Compacted); ok {
					events = append(events, e)
				}
			}})
			if o.Reason != loop.EndAnswered || m.Broken() != nil {
				t.Errorf("outcome: %+v, %v", o, m.Broken())
			}
			if c.pruned || c.summed {
				if len(events) != 1 || events[0].Pruned != c.pruned || events[0].After >= events[0].Before {
					t.Errorf("events: %+v", events)
				}
			} else if len(events) != 0 {
				t.Errorf("events: %+v", events)
			}
			if asked := len(summariser.Requests()); (asked == 1) != c.summed {
				t.Errorf("the summariser was asked %d times", asked)
			}
			request := m.Requests()[0].Messages
			if last := request[len(request)-1]; last.Text != "the request" {
				t.Errorf("the request ends with %q", last.Text)
			}
		})
	}
}

// TestManyMessages count as a full window.
func TestManyMessages(t *testing.T) {
	j := talk(t, 110, 6)
	j.open("t1", "the request")
	r := &loop.Runner{Compressor: loop.NewCompressor(modeltest.New(modeltest.Text(notes)), 400_000, 0)}
	_, m := play(t, j, r, registry(t), modeltest.Text("done"))
	if n := len(m.Requests()[0].Messages); n > 210 {
		t.Errorf("%d messages in the request", n)
	}
	if n := len(j.entries); n < 550 {
		t.Errorf("%d entries in the log", n)
	}
}

// TestCompressionIsFinishedForANewMessage but not for a stop.
func TestCompressionIsFinishedForANewMessage(t *testing.T) {
	for by, compacted := range map[error]bool{loop.ErrSuperseded: true, loop.ErrStopped: false} {
		synctest.Test(t, func(t *testing.T) {
			j := talk(t, 30, 4000)
			j.open("t1", "the request")
			r := &loop.Runner{Compressor: loop.NewCompressor(modeltest.New(modeltest.After(10*time.Second, modeltest.Text(notes))), 40_000, 0)}
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(by) })
			o, m := playContext(t, ctx, j, r, registry(t))
			if (j.s.Compactions == 1) != compacted || len(m.Requests()) != 0 || o.Reason == loop.EndAnswered {
				t.Errorf("%v: %d compactions, outcome %+v", by, j.s.Compactions, o)
			}
		})
	}
}

// TestNoSecondSummaryBeforeAMeasurement, however full the window still is; and none that cannot help.
func TestNoSecondSummaryBeforeAMeasurement(t *testing.T) {
	j := talk(t, 30, 4000)
	j.open("t1", "the request")
	summariser := modeltest.New(modeltest.Text(notes), modeltest.Text(notes), modeltest.Text(notes))
	r := &loop.Runner{Compressor: loop.NewCompressor(summariser, 40_000, 0)}
	full := func(step modeltest.Step) modeltest.Step {
		return modeltest.WithUsage(sessions.Usage{Input: 39_000, Output: 1}, step)
	}
	var steps []modeltest.Step
	for i := range 6 {
		steps = append(steps, full(asks("echo", fmt.Sprint(i))[0]))
	}
	play(t, j, r, registry(t, echo(t)), append(steps, full(modeltest.Text("done")))...)
	if n := len(summariser.Requests()); n > 2 {
		t.Errorf("%d summaries although they do not help", n)
	}
}

// TestProtectedPartsAreBounded: what a compression must keep is cut to 30 % of the window, and the whole is in a file.
func TestProtectedPartsAreBounded(t *testing.T) {
	j := talk(t, 20, 4000)
	request := "begin " + strings.Repeat("a very long request ", 5000) + " end"
	j.open("t1", request)
	work := t.TempDir()
	out, err := loop.NewCompressor(nil, 40_000, 0).Compress(t.Context(), j.s, loop.Aim{Work: work})
	if err != nil {
		t.Fatal(err)
	}
	if out.After > 13_000 {
		t.Errorf("%d tokens are left", out.After)
	}
	text := out.Messages[len(out.Messages)-1].Text
	if !strings.HasPrefix(text, "begin ") || !strings.Contains(text, "The whole is in the file results/") {
		t.Errorf("request: %.80q ... %q", text, text[len(text)-120:])
	}
	files, err := filepath.Glob(filepath.Join(work, "results", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files: %v, %v", files, err)
	}
	if kept, err := os.ReadFile(files[0]); err != nil || string(kept) != request {
		t.Errorf("kept: %d bytes, %v", len(kept), err)
	}
}

// TestPrunedToolsStillWork: a turn whose history is pruned in its middle keeps its open request and budget.
func TestPrunedTurnGoesOn(t *testing.T) {
	big := tool(t, tools.Spec{Name: "big", Risk: tools.ReadOnly, Ranged: true}, func(_ context.Context, text string) (tools.Result, error) {
		return tools.Result{Text: strings.Repeat("result "+text+" ", 2000)}, nil
	})
	j := newJournal(t, "the request")
	r := &loop.Runner{Compressor: loop.NewCompressor(nil, 60_000, 0), Limits: loop.Limits{MaxTurns: 12}}
	o, m := play(t, j, r, registry(t, big), append(asks("big", "a", "b", "c", "d", "e", "f", "g", "h", "i"), modeltest.Text("done"))...)
	if o.Reason != loop.EndAnswered || o.Calls != 9 || o.Rounds != 10 {
		t.Errorf("outcome: %+v", o)
	}
	last := m.Requests()[9].Messages
	if last[0].Text != "the request" {
		t.Errorf("the request is gone: %q", last[0].Text)
	}
}
