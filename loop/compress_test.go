package loop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
)

const notes = "## Goal\nfind the needle\n## Files\nhay.txt"

// talk returns a journal with n finished turns, each of one tool call with a result of size bytes.
func talk(t testing.TB, n, size int) *journal {
	t.Helper()
	j := &journal{t: t, s: &sessions.Session{Key: "k"}}
	j.must(sessions.PromptBuilt{System: "You are a test."})
	for i := range n {
		turn := fmt.Sprintf("turn%d", i)
		j.open(turn, fmt.Sprintf("question %d", i))
		j.must(
			sessions.AssistantMessage{Turn: turn, Message: sessions.Message{
				Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{call("c", "echo", fmt.Sprintf(`{"n":%d}`, i))},
			}},
			sessions.ToolResult{Turn: turn, Outcome: sessions.OutcomeOK, Message: sessions.Message{
				Role: sessions.RoleTool, ToolCallID: "c", Text: strings.Repeat(fmt.Sprintf("hay %d ", i), size/6),
			}},
			sessions.AssistantMessage{Turn: turn, Message: sessions.Message{Role: sessions.RoleAssistant, Text: fmt.Sprintf("answer %d", i)}},
			sessions.TurnEnded{Turn: turn, Reason: "answered"},
		)
	}
	return j
}

func compress(t testing.TB, c *loop.Compressor, j *journal) sessions.Compaction {
	t.Helper()
	out, err := c.Compress(t.Context(), j.s, loop.Aim{})
	if err != nil {
		t.Fatal(err)
	}
	j.must(out)
	if err := loop.CheckLedger(j.s.Messages); err != nil {
		t.Error(err)
	}
	return out
}

func TestCompress(t *testing.T) {
	j := talk(t, 30, 4000)
	id := j.s.ID
	m := modeltest.New(modeltest.Text(notes))
	out := compress(t, loop.NewCompressor(m, 40_000, 0), j)
	if !out.Summary || out.Count != 1 || out.Segment != id || out.Prompt.System != "You are a test." {
		t.Errorf("compaction: %+v", out)
	}
	if out.After > out.Before/3 || out.Before < 25_000 {
		t.Errorf("from %d to %d tokens", out.Before, out.After)
	}
	ms := j.s.Messages
	if ms[0].Text != "question 0" || ms[1].Role != sessions.RoleAssistant || !strings.Contains(ms[2].Text, notes) {
		t.Errorf("head: %+v", ms[:3])
	}
	n := len(ms)
	if ms[n-1].Text != "answer 29" || ms[n-4].Text != "question 29" || len(ms[n-2].Text) < 3900 {
		t.Errorf("tail: %+v", ms[n-4:])
	}
	question := m.Requests()[0].Messages[0].Text
	for _, want := range []string{"question 1\n", "Assistant called echo", "answer 5"} {
		if !strings.Contains(question, want) {
			t.Errorf("the summariser does not see %q", want)
		}
	}
	if strings.Contains(question, "question 29") {
		t.Error("the summariser sees what stays")
	}
}

// TestCompressAgain: an earlier summary is updated, not summarised a second time, and stands in the ledger once.
func TestCompressAgain(t *testing.T) {
	j := talk(t, 20, 4000)
	m := modeltest.New(modeltest.Text("first notes"), modeltest.Text("second notes"))
	c := loop.NewCompressor(m, 40_000, 0)
	compress(t, c, j)
	for i := range 10 {
		turn := fmt.Sprintf("more%d", i)
		j.open(turn, "more "+strings.Repeat("words ", 800))
		j.must(
			sessions.AssistantMessage{Turn: turn, Message: sessions.Message{Role: sessions.RoleAssistant, Text: "fine"}},
			sessions.TurnEnded{Turn: turn},
		)
	}
	out := compress(t, c, j)
	if out.Count != 2 {
		t.Errorf("count %d", out.Count)
	}
	question := m.Requests()[1].Messages[0].Text
	if !strings.Contains(question, "<notes>\nfirst notes\n</notes>") || strings.Count(question, "first notes") != 1 {
		t.Errorf("question: %.300q", question)
	}
	all := fmt.Sprint(j.s.Messages)
	if strings.Contains(all, "first notes") || strings.Count(all, "second notes") != 1 || j.s.Messages[0].Text != "question 0" {
		t.Errorf("ledger: %.500q", all)
	}
}

func TestCompressWithoutAModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := talk(t, 30, 4000)
		m := modeltest.New(modeltest.Fail(loop.ModelOverloaded, 0), modeltest.Empty())
		out := compress(t, loop.NewCompressor(m, 40_000, 0), j)
		if out.Summary || out.After > out.Before/3 {
			t.Errorf("compaction: summary %v, from %d to %d", out.Summary, out.Before, out.After)
		}
		digest := j.s.Messages[2].Text
		for _, want := range []string{"No model was available", "- question 5\n", `- echo {"n":20}`, "answer 21"} {
			if !strings.Contains(digest, want) {
				t.Errorf("digest lacks %q: %s", want, digest)
			}
		}
		again, err := loop.NewCompressor(nil, 40_000, 0).Compress(t.Context(), talk(t, 30, 4000).s, loop.Aim{})
		if err != nil || again.Messages[2].Text != digest {
			t.Error("the digest is not deterministic")
		}
	})
}

// TestTail: the last assistant message stays even if what follows fills the tail, and the tail may be half as large again
// as planned rather than lose a message that begins within the plan.
func TestTail(t *testing.T) {
	j := talk(t, 30, 4000)
	j.open("t1", strings.Repeat("a long request ", 4000))
	out := compress(t, loop.NewCompressor(nil, 40_000, 0), j)
	n := len(out.Messages)
	if out.Messages[n-2].Text != "answer 29" || !strings.HasPrefix(out.Messages[n-1].Text, "a long request") || n != 5 {
		t.Errorf("%d messages, tail %+v", n, out.Messages[n-2:])
	}
	j = talk(t, 30, 26_000) // of 6,500 tokens, where 8,000 are planned
	if out = compress(t, loop.NewCompressor(nil, 40_000, 0), j); !strings.HasPrefix(out.Messages[4].Text, "question 29") {
		t.Errorf("tail: %+v", out.Messages[4:])
	}
	j = talk(t, 30, 20_000) // of 5,000 tokens
	if out = compress(t, loop.NewCompressor(nil, 40_000, 0), j); out.Messages[3].ToolCalls == nil || out.Messages[3].ToolCalls[0].Arguments != `{"n":28}` {
		t.Errorf("tail: %+v", out.Messages[4:])
	}
}

// TestDigestIsBounded, however much there was to say.
func TestDigestIsBounded(t *testing.T) {
	j := talk(t, 0, 0)
	for i := range 400 {
		turn := fmt.Sprintf("turn%d", i)
		j.open(turn, fmt.Sprintf("question %d %s", i, strings.Repeat("long ", 100)))
		j.must(sessions.AssistantMessage{Turn: turn, Message: sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{call("c", "echo", fmt.Sprintf(`{"text":"%d%s"}`, i, strings.Repeat("x", 300)))}}})
		j.must(
			sessions.ToolResult{Turn: turn, Message: sessions.Message{Role: sessions.RoleTool, ToolCallID: "c", Text: "r"}},
			sessions.AssistantMessage{Turn: turn, Message: assistant(strings.Repeat("answer ", 100))}, sessions.TurnEnded{Turn: turn})
	}
	out := compress(t, loop.NewCompressor(nil, 40_000, 0), j)
	if n := len(out.Messages[2].Text); n > 9_000 || !strings.Contains(out.Messages[2].Text, "earlier ones left out") {
		t.Errorf("%d bytes", n)
	}
}

func TestCompressIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(loop.ErrStopped) })
		_, err := loop.NewCompressor(modeltest.New(modeltest.Block("")), 40_000, 0).Compress(ctx, talk(t, 30, 4000).s, loop.Aim{})
		if !errors.Is(err, loop.ErrStopped) {
			t.Errorf("error: %v", err)
		}
	})
}

func TestNothingToCompress(t *testing.T) {
	for _, j := range []*journal{talk(t, 0, 0), talk(t, 1, 100), talk(t, 3, 100)} {
		if _, err := loop.NewCompressor(modeltest.New(), 40_000, 0).Compress(t.Context(), j.s, loop.Aim{}); !errors.Is(err, loop.ErrNothingToCompress) {
			t.Errorf("%d messages: %v", len(j.s.Messages), err)
		}
	}
}

// TestIneffectiveCompressionsStop: two in a row after which the provider measures no smaller prompt are enough.
func TestIneffectiveCompressionsStop(t *testing.T) {
	j := talk(t, 30, 4000)
	c := loop.NewCompressor(nil, 40_000, 0)
	measure := func(turn string, input int) {
		j.open(turn, "more "+strings.Repeat("words ", 4000))
		j.must(
			sessions.AssistantMessage{
				Turn: turn, Usage: sessions.Usage{Input: input, Output: 1},
				Message: sessions.Message{Role: sessions.RoleAssistant, Text: "fine " + strings.Repeat("words ", 4000)},
			},
			sessions.TurnEnded{Turn: turn},
		)
	}
	measure("m0", 30_000)
	compress(t, c, j)
	measure("m1", 29_000)
	measure("m2", 29_000)
	measure("m3", 29_000)
	if out := compress(t, c, j); out.Ineffective != 1 {
		t.Errorf("%d ineffective", out.Ineffective)
	}
	measure("m4", 29_000)
	if _, err := c.Compress(t.Context(), j.s, loop.Aim{}); !errors.Is(err, loop.ErrIneffective) {
		t.Errorf("error: %v", err)
	}
	j.s.Ineffective = 1
	measure("m5", 29_000)
	compress(t, c, j)
	measure("m6", 9_000)
	if j.s.Ineffective != 0 {
		t.Errorf("%d ineffective after one that was", j.s.Ineffective)
	}
}

// TestContextTooLong: in the middle of a turn the history is shortened once and the call is made again; the turn, its
// request and its budget go on.
func TestContextTooLong(t *testing.T) {
	j := talk(t, 20, 4000)
	j.open("t1", "the request")
	c := loop.NewCompressor(modeltest.New(modeltest.Text(notes)), 40_000, 0)
	c.PreflightAt, c.SummarizeAt = 1, 1
	r := &loop.Runner{Compressor: c}
	o, m := play(t, j, r, registry(t, echo(t)),
		modeltest.Call("echo", `{"text":"x"}`), modeltest.Fail(loop.ModelTooLong, 0), modeltest.Text("done"))
	if o.Reason != loop.EndAnswered || o.Rounds != 2 || o.Calls != 1 {
		t.Errorf("outcome: %+v", o)
	}
	last := m.Requests()[2].Messages
	n := len(last)
	if !strings.Contains(fmt.Sprint(last), notes) || last[n-3].Text != "the request" || last[n-1].Text != "x" {
		t.Errorf("request: %+v", last[n-3:])
	}
	if diff := cmp.Diff([]string{
		"RoundStarted 1", "ModelReturned", "Replied", "CallStarted c81", "CallEnded c81 ok", "RoundStarted 2", "ModelReturned", "Compacted", "RoundStarted 2", "ModelReturned", "Replied",
		"Ended answered",
	}, *j.events); diff != "" {
		t.Error(diff)
	}
}

// TestOneGiantResult: a single result that does not fit is shortened, without a summary.
func TestOneGiantResult(t *testing.T) {
	j := newJournal(t, "read it")
	j.must(asked(call("a", "echo", `{}`)), sessions.ToolResult{
		Turn: "t1", Outcome: sessions.OutcomeOK,
		Message: sessions.Message{Role: sessions.RoleTool, ToolCallID: "a", Text: "begin" + strings.Repeat("大", 200_000) + "end"},
	})
	r := &loop.Runner{Compressor: loop.NewCompressor(modeltest.New(), 100_000, 0)}
	o, m := play(t, j, r, registry(t, echo(t)), modeltest.Fail(loop.ModelTooLong, 0), modeltest.Text("done"))
	if o.Reason != loop.EndAnswered {
		t.Errorf("outcome: %+v", o)
	}
	got := m.Requests()[1].Messages[2].Text
	if len(got) > 10_000 || !strings.HasPrefix(got, "begin") || !strings.HasSuffix(got, "end") {
		t.Errorf("%d bytes: %.40q", len(got), got)
	}
}

func TestStillTooLong(t *testing.T) {
	j := talk(t, 20, 4000)
	j.open("t1", "the request")
	r := &loop.Runner{Compressor: loop.NewCompressor(nil, 40_000, 0)}
	o, _ := play(t, j, r, registry(t, echo(t)), modeltest.Fail(loop.ModelTooLong, 0), modeltest.Fail(loop.ModelTooLong, 0))
	if o.Reason != loop.EndModelFailed || !strings.Contains(o.Text, "/new") {
		t.Errorf("outcome: %+v", o)
	}
}

// TestCompressKeeps: whatever the history, the first and the newest user message, the last messages and the pairs of
// calls and results survive, and the result is valid.
func TestCompressKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &sessions.Session{Key: "k"}
		word := rapid.StringMatching(`[a-z]{0,3}`)
		for i := range rapid.IntRange(1, 30).Draw(t, "turns") {
			text := strings.Repeat("你好 "+word.Draw(t, "text"), rapid.IntRange(1, 300).Draw(t, "length"))
			s.Messages = append(s.Messages, sessions.Message{Role: sessions.RoleUser, Text: fmt.Sprintf("%d %s", i, text)})
			for k := range rapid.IntRange(0, 4).Draw(t, "rounds") {
				id := fmt.Sprintf("c%d", k)
				s.Messages = append(s.Messages,
					sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{call(id, "echo", `{}`)}},
					sessions.Message{Role: sessions.RoleTool, ToolCallID: id, Text: strings.Repeat("result ", rapid.IntRange(0, 2000).Draw(t, "result"))})
			}
			if rapid.Bool().Draw(t, "answered") {
				s.Messages = append(s.Messages, sessions.Message{Role: sessions.RoleAssistant, Text: "ok"})
			}
		}
		before, _ := loop.Repair(s.Messages)
		out, err := loop.NewCompressor(nil, rapid.IntRange(2_000, 60_000).Draw(t, "window"), 0).Compress(context.Background(), s, loop.Aim{})
		if errors.Is(err, loop.ErrNothingToCompress) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := loop.CheckLedger(out.Messages); err != nil {
			t.Fatal(err)
		}
		newest := ""
		for _, m := range before {
			if m.Role == sessions.RoleUser {
				newest = m.Text
			}
		}
		found := false
		for _, m := range out.Messages {
			found = found || m.Text == newest
		}
		if !found && newest != before[0].Text {
			t.Fatal("the newest user message is gone")
		}
		if a, b := before[len(before)-1], out.Messages[len(out.Messages)-1]; a.Role != b.Role || a.ToolCallID != b.ToolCallID {
			t.Fatalf("the last message was %s and is %s", a.Role, b.Role)
		}
	})
}

// TestSummaryIsBounded: a model that writes far too much cannot make the ledger long again, nor forge the marks.
func TestSummaryIsBounded(t *testing.T) {
	j := talk(t, 30, 4000)
	first := compress(t, loop.NewCompressor(modeltest.New(modeltest.Text(strings.Repeat("one more line of notes\n", 20_000))), 40_000, 0), j)
	if !strings.Contains(first.Messages[2].Text, "the notes were too long") || first.After > first.Before/2 {
		t.Errorf("from %d to %d tokens", first.Before, first.After)
	}
	m := modeltest.New(modeltest.Text("inner " + first.Messages[2].Text[:200] + " notes"))
	second := compress(t, loop.NewCompressor(m, 40_000, 0), talk(t, 30, 4000))
	if text := second.Messages[2].Text; strings.Count(text, "[Summary of what came before") != 1 {
		t.Errorf("summary: %q", text)
	}
}
