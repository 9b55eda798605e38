package recording_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "record the turns in testdata anew")

// kinds are the turns in testdata: how each is recorded, and what must be in the recording, or it would be of another kind.
var kinds = []struct {
	name   string
	record func(t *testing.T) *rig
	holds  []string
}{
	{"tools", recordTools, []string{"it says one", "notes.txt", `"event":"Nudged"`, `"reason":"answered"`}},
	{"parallel", recordParallel, []string{"it says c", "it says bbbb"}},
	{"interrupt", recordInterrupt, []string{`"cause":"superseded by a newer message"`, `"reason":"superseded"`}},
	{"compression", recordCompression, []string{`"lane":"summary"`, `"kind":"compaction"`}},
	{"notes", recordNotes, []string{`"lane":"notes/"`, `"lane":"summary"`, `"kind":"notes_changed"`, "likes tea"}},
	{"compressed", recordCompressed, []string{`"kind":"compression"`, `"lane":"notes/"`, `"lane":"summary"`, `"kind":"notes_changed"`, `"reason":"answered"`}},
	{"fallback", recordFallback, []string{`"event":"Retrying"`, `"event":"FellBack"`, `"model":"second"`}},
	{"subagents", recordSubAgents, []string{`"lane":"call-delegate.1/"`, `"lane":"call-delegate.2/"`}},
	{"cutstream", recordCutStream, []string{`"text":"half an ans"`, `"class":"network"`}},
	{"approval", recordApproval, []string{`"kind":"decision"`, "denied by Ada"}},
	{"budget", recordBudget, []string{`"no_tools":true`, `"reason":"model call budget"`}},
	{"crash", recordCrash, []string{`"resumed":true`, `"kind":"turn_resumed"`}},
	{"question", recordQuestion, []string{`"kind":"question"`, "the green one"}},
	{"steered", recordSteered, []string{`"kind":"steered"`, "The blue one, please."}},
}

// TestKinds plays the recordings in testdata: the loop must do now what it did when they were made. With -update they
// are made anew; whoever does that reads the difference.
func TestKinds(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			path := filepath.Join("testdata", k.name+".jsonl")
			if *update {
				synctest.Test(t, func(t *testing.T) {
					if err := os.WriteFile(path, k.record(t).export(), 0o644); err != nil {
						t.Fatal(err)
					}
				})
			}
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range k.holds {
				if !strings.Contains(string(file), want) {
					t.Errorf("the recording has no %s", want)
				}
			}
			synctest.Test(t, func(t *testing.T) {
				if _, err := replay(t, file); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestFresh: what is recorded now plays now.
func TestFresh(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := replay(t, k.record(t).export())
				if err != nil {
					t.Error(err)
				}
				if len(s) != 1 || s[0].Requests == 0 || s[0].Entries == 0 {
					t.Errorf("nothing was compared: %v", s)
				}
			})
		})
	}
}

func recordTools(t *testing.T) *rig {
	write := tool(t, tools.Spec{
		Name: "write", Risk: tools.Writes, Paths: func(json.RawMessage) []string { return []string{"notes.txt"} },
	}, func(context.Context, string) (tools.Result, error) { return tools.Result{Text: "written"}, nil })
	broken := tool(t, tools.Spec{
		Name: "broken", Risk: tools.ReadOnly, Paths: func(json.RawMessage) []string { return []string{"x"} },
	}, func(context.Context, string) (tools.Result, error) {
		return tools.Result{}, errors.New("it is not there")
	})
	m := steps(asks("echo", "one"), asks("write", "two", "broken", "x", "nosuch", "y"), says("Done."), says("Done, not checked."))
	r := newRig(t, &loop.Runner{Model: m}, []tools.Tool{echo(t), write, broken}, "Do it.")
	r.run(false)
	return r
}

func recordParallel(t *testing.T) *rig {
	r := newRig(t, &loop.Runner{Model: steps(asks("echo", "c", "echo", "bbbb", "echo", "aa"), says("All three."))},
		[]tools.Tool{echo(t)}, "All at once.")
	r.run(false)
	return r
}

func recordInterrupt(t *testing.T) *rig {
	var r *rig
	slow := tool(t, tools.Spec{Name: "slow"}, func(ctx context.Context, _ string) (tools.Result, error) {
		r.cancel(loop.ErrSuperseded)
		<-ctx.Done()
		return tools.Result{Text: "half of it"}, ctx.Err()
	})
	r = newRig(t, &loop.Runner{Model: steps(asks("echo", "one", "slow", "two"))}, []tools.Tool{echo(t), slow}, "Take your time.")
	r.run(false)
	return r
}

func recordCompression(t *testing.T) *rig {
	r := newRig(t, forgetful(asks("echo", "one"), says("Done.")), []tools.Tool{echo(t)}, "And now?", longHistory()...)
	r.run(false)
	return r
}

// recordNotes is a compression inside the turn before which notes are taken.
func recordNotes(t *testing.T) *rig {
	r := newRig(t, forgetful(says("Done.")), append(memory(t), echo(t)), "And now?", longHistory()...)
	r.run(false)
	return r
}

// recordCompressed is a compression before the turn, with notes.
func recordCompressed(t *testing.T) *rig {
	r := newRig(t, forgetful(asks("echo", "one"), says("Done.")), append(memory(t), echo(t)), "", longHistory()...)
	r.compress()
	r.begin("And now?")
	r.run(false)
	return r
}

// forgetful is a runner that has to summarise a long history. Its model says the answers in order, beside that.
func forgetful(answers ...loop.Reply) *loop.Runner {
	n := 0
	m := &script{name: "first", call: func(_ context.Context, _ int, req loop.Request, _ func(string)) (loop.Reply, error) {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case strings.HasPrefix(req.System, "You keep an assistant's notes") && last.Role == sessions.RoleTool:
			return says("Done."), nil
		case strings.HasPrefix(req.System, "You keep an assistant's notes"):
			return loop.Reply{Finish: loop.FinishTools, Message: sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{
				ID: "call-memory", Name: "memory", Arguments: `{"action":"add","target":"user","content":"likes tea"}`,
			}}}}, nil
		case len(req.Tools) == 0:
			return says("## Goal\ncount\n## Facts to keep\n- the code is 4711\n"), nil
		}
		n++
		return answers[n-1], nil
	}}
	return &loop.Runner{Model: m, Compressor: loop.NewCompressor(m, 6000, 1000)}
}

func longHistory() (history []sessions.Entry) {
	for i := range 12 {
		turn := fmt.Sprintf("old-%d", i)
		history = append(history, sessions.TurnStarted{Turn: turn, Requester: "2"},
			sessions.UserMessage{Turn: turn, Message: sessions.Message{Role: sessions.RoleUser, Text: fmt.Sprintf("question %d", i)}},
			sessions.AssistantMessage{Turn: turn, Message: says(strings.Repeat(fmt.Sprintf("answer %d, at length. ", i), 70)).Message},
			sessions.TurnEnded{Turn: turn, Reason: "answered"})
	}
	return history
}

func memory(t *testing.T) []tools.Tool {
	t.Helper()
	all, err := agenttools.NewMemory(agenttools.NewNotes(t.TempDir(), 2200, 1375))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func recordFallback(t *testing.T) *rig {
	first := &script{name: "first", call: func(_ context.Context, n int, _ loop.Request, _ func(string)) (loop.Reply, error) {
		class := []loop.ErrorClass{loop.ModelOverloaded, loop.ModelQuota}[n-1]
		return loop.Reply{}, &loop.ModelError{Class: class, Err: errors.New("no")}
	}}
	second := steps(asks("echo", "one"), says("From the second."))
	second.name = "second"
	r := newRig(t, &loop.Runner{Model: loop.NewChain(loop.Link{Model: first}, loop.Link{Model: second})}, []tools.Tool{echo(t)}, "Who answers?")
	r.run(false)
	return r
}

func recordSubAgents(t *testing.T) *rig {
	delegation, err := agenttools.NewDelegation(agenttools.Delegation{MaxIterations: 50, MaxParallel: 3})
	if err != nil {
		t.Fatal(err)
	}
	m := &splitter{}
	r := newRig(t, &loop.Runner{Model: m}, append(delegation, echo(t)), "Let others do it.")
	r.run(false)
	return r
}

// splitter is a model that delegates, and works as a sub-agent.
type splitter struct{}

func (splitter) Name() string { return "first" }

func (splitter) Call(_ context.Context, req loop.Request, _ func(string)) (loop.Reply, error) {
	last := req.Messages[len(req.Messages)-1]
	switch {
	case strings.HasPrefix(last.Text, "Let others"):
		return loop.Reply{Finish: loop.FinishTools, Message: sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{
			ID: "call-delegate", Name: "delegate_task", Arguments: `{"tasks":[{"goal":"look north"},{"goal":"look south"}]}`,
		}}}}, nil
	case last.Role == sessions.RoleUser:
		return asks("echo", last.Text[strings.LastIndex(last.Text, " ")+1:]), nil
	case strings.HasPrefix(last.Text, "it says"):
		return says("I saw: " + last.Text), nil
	}
	return says("Both are back."), nil
}

func recordCutStream(t *testing.T) *rig {
	m := &script{name: "first", call: func(_ context.Context, n int, _ loop.Request, onText func(string)) (loop.Reply, error) {
		if n == 1 {
			onText("half an ")
			onText("ans")
			return loop.Reply{}, &loop.ModelError{Class: loop.ModelNetwork, Err: errors.New("the stream was cut")}
		}
		return says("A whole answer."), nil
	}}
	r := newRig(t, &loop.Runner{Model: m}, nil, "Say it.")
	r.run(false)
	return r
}

// people answer questions for permission, in order.
type people []tools.Decision

func (p *people) Approve(context.Context, tools.Ask) (tools.Decision, error) {
	d := (*p)[0]
	*p = (*p)[1:]
	return d, nil
}

func recordApproval(t *testing.T) *rig {
	command := tool(t, tools.Spec{Name: "command", Risk: tools.Executes}, func(_ context.Context, text string) (tools.Result, error) {
		return tools.Result{Text: "ran " + text}, nil
	})
	runner := &loop.Runner{
		Model: steps(asks("command", "ls", "command", "rm"), says("One of two.")), Policy: tools.AskByRisk{tools.Executes},
		Approver: &people{{Allowed: true, Extent: tools.Once}, {Note: "denied by Ada"}},
	}
	r := newRig(t, runner, []tools.Tool{command}, "Clean up.")
	r.run(false)
	return r
}

func recordBudget(t *testing.T) *rig {
	r := newRig(t, &loop.Runner{Model: steps(asks("echo", "one"), asks("echo", "two"), says("As far as I got.")), Limits: loop.Limits{MaxTurns: 2}},
		[]tools.Tool{echo(t)}, "Go on for ever.")
	r.run(false)
	return r
}

func recordCrash(t *testing.T) *rig {
	middle := make(chan struct{})
	hang := tool(t, tools.Spec{Name: "hang"}, func(ctx context.Context, _ string) (tools.Result, error) {
		close(middle)
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	})
	r := newRig(t, &loop.Runner{Model: steps(asks("echo", "one"), asks("hang", "x"), says("I looked: nothing had happened."))},
		[]tools.Tool{echo(t), hang}, "Be careful.")
	r.crash(middle)
	r.run(true)
	return r
}

func recordSteered(t *testing.T) *rig {
	var r *rig
	slow := tool(t, tools.Spec{Name: "slow"}, func(context.Context, string) (tools.Result, error) {
		r.said = []string{"The blue one, please."}
		return tools.Result{Text: "looked"}, nil
	})
	r = newRig(t, &loop.Runner{Model: steps(asks("slow", "x"), says("The blue one it is."))}, []tools.Tool{slow}, "Take one.")
	r.run(false)
	return r
}

// answering is a person who is asked a question.
type answering string

func (a answering) Ask(context.Context, tools.Question) (tools.Answer, error) {
	return tools.Answer{Text: string(a)}, nil
}

func recordQuestion(t *testing.T) *rig {
	clarify, err := agenttools.NewClarify()
	if err != nil {
		t.Fatal(err)
	}
	ask := loop.Reply{Finish: loop.FinishTools, Message: sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{
		ID: "call-clarify", Name: "clarify", Arguments: `{"question":"Which one?"}`,
	}}}}
	r := newRig(t, &loop.Runner{Model: steps(ask, says("The green one it is.")), Asker: answering("the green one")}, clarify, "Take one.")
	r.run(false)
	return r
}
