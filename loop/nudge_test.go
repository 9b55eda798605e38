package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// workshop has tools to write, read and run something. The argument is the file.
func workshop(t testing.TB) *tools.Registry {
	paths := func(raw json.RawMessage) []string {
		var a arguments
		if json.Unmarshal(raw, &a) != nil {
			return nil
		}
		return []string{a.Text}
	}
	ok := func(_ context.Context, text string) (tools.Result, error) {
		return tools.Result{Text: "did " + text}, nil
	}
	return registry(t,
		tool(t, tools.Spec{Name: "write", Risk: tools.Writes, Paths: paths}, ok),
		tool(t, tools.Spec{Name: "read", Risk: tools.ReadOnly, Paths: paths}, ok),
		tool(t, tools.Spec{Name: "run", Risk: tools.Executes, Verifies: true}, func(_ context.Context, text string) (tools.Result, error) {
			return tools.Result{Text: text, Failed: text == "fails", Class: tools.FailCommand}, nil
		}))
}

// TestUnverifiedChangesGetOneNudge: before a turn that changed files may end, it is asked once to check them, unless a
// command ran or every changed file was read after the change. What the nudge and the held back answer said is nowhere
// in the log.
func TestUnverifiedChangesGetOneNudge(t *testing.T) {
	for name, c := range map[string]struct {
		calls  []string // "tool file"
		nudged bool
	}{
		"nothing changed":       {[]string{"read a"}, false},
		"changed":               {[]string{"write a"}, true},
		"changed, then read":    {[]string{"write a", "read a"}, false},
		"read, then changed":    {[]string{"read a", "write a"}, true},
		"two changed, one read": {[]string{"write a", "write b", "read ./b"}, true},
		"changed, then run":     {[]string{"write a", "write b", "run make"}, false},
		"changed, a failed run": {[]string{"write a", "run fails"}, false},
		"run, then changed":     {[]string{"run make", "write a"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var steps []modeltest.Step
			for _, line := range c.calls {
				tool, file, _ := strings.Cut(line, " ")
				steps = append(steps, asks(tool, file)[0])
			}
			steps = append(steps, modeltest.Text("I changed it."))
			if c.nudged {
				steps = append(steps, asks("read", "a")[0], modeltest.Text("I changed it and looked."))
			}
			j := newJournal(t, "change it")
			o, m := play(t, j, &loop.Runner{}, workshop(t), steps...)
			if o.Reason != loop.EndAnswered || strings.Contains(o.Text, "and looked") != c.nudged {
				t.Errorf("outcome: %+v", o)
			}
			hints := ""
			for _, r := range m.Requests() {
				hints += r.Hint + "\n"
			}
			if n := strings.Count(hints, "have not checked"); n > 1 || (n == 1) != c.nudged {
				t.Errorf("hints: %s", hints)
			}
			if c.nudged && !strings.Contains(hints, "<draft>\nI changed it.\n</draft>") {
				t.Errorf("hints: %s", hints)
			}
			if all := fmt.Sprint(j.entries); strings.Contains(all, "have not checked") || c.nudged && strings.Contains(all, "I changed it.") {
				t.Errorf("the nudge was written down: %s", all)
			}
		})
	}
}

// TestNudgedModelMayInsist: the answer after the nudge counts, and if there is none, the one that was held back.
func TestNudgedModelMayInsist(t *testing.T) {
	for name, c := range map[string]struct {
		then []modeltest.Step
		want string
	}{
		"insists": {[]modeltest.Step{modeltest.Text("Unchecked, but fine.")}, "Unchecked, but fine."},
		"empty":   {[]modeltest.Step{modeltest.Empty(), modeltest.Empty()}, "I changed it."},
		"fails":   {[]modeltest.Step{modeltest.Fail(loop.ModelAuth, 0)}, "I changed it."},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJournal(t, "change it")
			o, _ := play(t, j, &loop.Runner{}, workshop(t), append([]modeltest.Step{asks("write", "a")[0], modeltest.Text("I changed it.")}, c.then...)...)
			if o.Reason != loop.EndAnswered || o.Text != c.want {
				t.Errorf("outcome: %+v", o)
			}
			if last := j.s.Messages[len(j.s.Messages)-1]; last.Text != c.want {
				t.Errorf("the ledger ends with %q", last.Text)
			}
		})
	}
}

// TestNoNudgeWithoutABudget: at the last round the answer is the answer.
func TestNoNudgeWithoutABudget(t *testing.T) {
	j := newJournal(t, "change it")
	o, _ := play(t, j, &loop.Runner{Limits: loop.Limits{MaxTurns: 2}}, workshop(t), asks("write", "a")[0], modeltest.Text("I changed it."))
	if o.Reason != loop.EndAnswered || o.Rounds != 2 {
		t.Errorf("outcome: %+v", o)
	}
}

func TestAnnouncementGetsOnePrompt(t *testing.T) {
	j := newJournal(t, "what does it say?")
	o, m := play(t, j, &loop.Runner{}, workshop(t), modeltest.Text("让我检查一下文件。"), asks("read", "a")[0], modeltest.Text("I'll now read it again."))
	if o.Reason != loop.EndAnswered || o.Text != "I'll now read it again." || o.Rounds != 3 {
		t.Errorf("outcome: %+v", o)
	}
	if hint := m.Requests()[1].Hint; !strings.Contains(hint, "called no tool") || !strings.Contains(hint, "让我检查一下文件。") {
		t.Errorf("hint: %s", hint)
	}
	want := "RoundStarted 1,ModelReturned,Replied,Nudged announced without a call,RoundStarted 2,"
	if got := strings.Join(*j.events, ","); !strings.HasPrefix(got, want) {
		t.Errorf("events: %s", got)
	}
	j = newJournal(t, "hello")
	if o, _ := play(t, j, &loop.Runner{}, registry(t), modeltest.Text("I'll now read it.")); o.Rounds != 1 {
		t.Errorf("without tools: %+v", o)
	}
}

// TestEqualReadsAreNoProgress: other arguments that bring nothing new count as repeating, until something is changed.
func TestEqualReadsAreNoProgress(t *testing.T) {
	constant := func(risk tools.Risk, name string) tools.Tool {
		return tool(t, tools.Spec{Name: name, Risk: risk}, func(context.Context, string) (tools.Result, error) {
			return tools.Result{Text: "always the same"}, nil
		})
	}
	for name, c := range map[string]struct {
		risk  tools.Risk
		calls []string
		want  loop.EndReason
	}{
		"reads":            {tools.ReadOnly, []string{"look 1", "look 2", "look 3", "look 4"}, loop.EndRepetition},
		"writes":           {tools.Writes, []string{"look 1", "look 2", "look 3", "look 4", "look 5"}, loop.EndAnswered},
		"a change between": {tools.ReadOnly, []string{"look 1", "look 2", "look 3", "change x", "look 4", "look 5", "look 6"}, loop.EndAnswered},
	} {
		t.Run(name, func(t *testing.T) {
			var steps []modeltest.Step
			for _, line := range c.calls {
				tool, text, _ := strings.Cut(line, " ")
				steps = append(steps, asks(tool, text)[0])
			}
			j := newJournal(t, "go")
			o, _ := play(t, j, &loop.Runner{}, registry(t, constant(c.risk, "look"), constant(tools.Executes, "change")), append(steps, modeltest.Text("So."))...)
			if o.Reason != c.want {
				t.Errorf("outcome: %+v", o)
			}
		})
	}
}

// TestChangesAreRememberedAfterARestart: what an earlier process changed still has to be checked.
func TestChangesAreRememberedAfterARestart(t *testing.T) {
	j := newJournal(t, "change it")
	j.must(asked(call("a", "write", `{"text":"a"}`)), sessions.ToolResult{
		Turn: "t1", Outcome: sessions.OutcomeOK, Message: sessions.Message{Role: sessions.RoleTool, ToolCallID: "a", Text: "did a"},
	})
	m := modeltest.New(modeltest.Text("Changed."), modeltest.Text("Changed, unchecked."))
	r := &loop.Runner{Model: m}
	o := r.Run(t.Context(), loop.Turn{ID: "t1", Journal: j, Tools: workshop(t), Resumed: true})
	if o.Text != "Changed, unchecked." || !strings.Contains(m.Requests()[1].Hint, "You changed a ") {
		t.Errorf("outcome: %+v", o)
	}
}
