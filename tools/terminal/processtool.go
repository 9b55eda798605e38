package terminal

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/shellpolicy"
)

//go:embed process.md
var processDescription string

const (
	maxInput  = 64 << 10        // bytes of one write
	writeTime = 5 * time.Second // for what is written to be taken
	usualWait = 60 * time.Second
)

type processArguments struct {
	Action  string `json:"action" jsonschema:"list, poll, log, wait, write or kill"`
	ID      string `json:"id,omitempty" jsonschema:"which command, as terminal or list named it; not for list"`
	Input   string `json:"input,omitempty" jsonschema:"for write: what to type"`
	Close   bool   `json:"close,omitempty" jsonschema:"for write: true to end its input"`
	Timeout int    `json:"timeout,omitempty" jsonschema:"seconds to wait, at most 600; for wait default 60, for poll 0"`
}

// actions are those of the tool process.
var actions = []string{"list", "poll", "log", "wait", "write", "kill"}

// processTool looks after commands in the background.
type processTool struct {
	*Processes
	options Options
}

func newProcessTool(options Options) (tools.Tool, error) {
	t := &processTool{Processes: options.Processes, options: options}
	return tools.New(tools.Spec{
		Name: "process", Toolset: "terminal", Description: strings.TrimSpace(processDescription), Risk: tools.Executes,
		Judge: t.judge, Check: checkProcess, Preview: previewProcess, Timeout: MaxTimeout + 15*time.Second,
	}, t.call)
}

// checkProcess says what is wrong with arguments.
func checkProcess(raw json.RawMessage) (problems []tools.Problem) {
	var a processArguments
	if json.Unmarshal(raw, &a) != nil {
		return nil
	}
	if !slices.Contains(actions, a.Action) {
		problems = append(problems, tools.Problem{
			Argument: "action", Problem: fmt.Sprintf("there is no action %q", a.Action), Expected: strings.Join(actions, ", "),
		})
	}
	if a.ID == "" && a.Action != "list" {
		problems = append(problems, tools.Problem{Argument: "id", Problem: "it is missing", Expected: "an id as terminal or list named it"})
	}
	if len(a.Input) > maxInput {
		problems = append(problems, tools.Problem{Argument: "input", Problem: fmt.Sprintf("it has over %d KiB", maxInput>>10)})
	}
	return problems
}

func previewProcess(raw json.RawMessage) string {
	var a processArguments
	if json.Unmarshal(raw, &a) != nil {
		return ""
	}
	text := strings.TrimSpace(a.Action + " " + a.ID)
	if a.Action == "write" {
		text += ": " + a.Input
		if a.Close {
			text += "  (and end its input)"
		}
	}
	return text
}

// judge lets everything pass but what is typed: that is judged as a command would be, because it may be one. A person is
// asked unless it is harmless and complete, a sandbox keeps the program in its place, and it has no network.
func (t *processTool) judge(scope tools.Scope, raw json.RawMessage) tools.Judgement {
	var a processArguments
	if json.Unmarshal(raw, &a) != nil || a.Action != "write" || a.Input == "" {
		return tools.Judgement{Verdict: tools.Allow}
	}
	found := shellpolicy.Judge(a.Input, shellpolicy.Rules{
		Work: scope.Work, Dir: scope.Work, Own: t.options.Own, Home: t.options.Home, PID: t.options.PID, Deny: t.options.Deny,
		Contained: t.options.Sandbox.Contained(), Network: t.options.Network,
	})
	j := tools.Judgement{Verdict: found.Verdict, Reason: found.Reason(), Fleeting: true}
	var why string
	switch {
	case j.Verdict == tools.DenyAlways:
		return j
	case !t.options.Sandbox.Contained():
		why = "It types into a running program, which no sandbox keeps in its place."
	case t.online(scope.Conversation, a.ID):
		why = "It types into a running program that has the network."
	case !strings.HasSuffix(a.Input, "\n") || strings.ContainsFunc(a.Input, control):
		why = "It types keys or a part of a line into a running program, so what that will do cannot be told."
	}
	if why != "" {
		j.Verdict, j.Reason = tools.AskFirst, strings.TrimSpace(why+" "+j.Reason)
	}
	return j
}

// control tells whether a character is a key that is no text.
func control(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }

func (t *processTool) call(ctx context.Context, scope tools.Scope, a processArguments) (tools.Result, error) {
	if ctx.Err() != nil {
		return tools.Result{}, context.Cause(ctx)
	}
	if a.Action == "list" {
		return t.list(scope.Conversation), nil
	}
	j := t.job(scope.Conversation, a.ID)
	if j == nil {
		return tools.Wrongf("There is no command %q in the background of this conversation. %s", a.ID, t.list(scope.Conversation).Text), nil
	}
	switch a.Action {
	case "poll":
		return t.poll(ctx, j, a.Timeout)
	case "log":
		return t.show(j, func(o *output, state string) string { return o.text(state) }), nil
	case "wait":
		return t.await(ctx, scope, j, a.Timeout)
	case "write":
		return t.write(j, a), nil
	default:
		return t.kill(j), nil
	}
}

// job returns a conversation's job of an id; nil if there is none.
func (p *Processes) job(conversation, id string) *job {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range p.of[conversation] {
		if j.ID == id {
			return j
		}
	}
	return nil
}

// online tells whether a conversation's job has the network.
func (p *Processes) online(conversation, id string) bool {
	j := p.job(conversation, id)
	return j != nil && j.network
}

func (t *processTool) list(conversation string) tools.Result {
	t.mu.Lock()
	var ended []*job
	var b strings.Builder
	for _, j := range t.of[conversation] {
		fmt.Fprintf(&b, "- %s `%s`: %s\n", j.ID, brief(j.Command), j.state())
		if j.ended {
			ended = append(ended, j)
		}
	}
	t.mu.Unlock()
	t.saw(ended...)
	if b.Len() == 0 {
		return tools.Result{Text: "Nothing runs in the background of this conversation."}
	}
	return tools.Result{Text: "In the background of this conversation:\n" + b.String()}
}

// show makes a result of a job's output and state, and notes what the model knows from now on.
func (t *processTool) show(j *job, text func(o *output, state string) string) tools.Result {
	t.mu.Lock()
	o, ended, state := j.out, j.ended, "["+j.state()+"]"
	t.mu.Unlock()
	if ended {
		t.saw(j)
	}
	if o == nil {
		return tools.Result{Text: "[what it said is not known any more]\n" + state}
	}
	return tools.Result{Text: text(o, state)}
}

// news shows what a job has said since the model has looked last.
func (t *processTool) news(j *job) tools.Result {
	return t.show(j, func(o *output, state string) string {
		t.mu.Lock()
		from := j.read
		t.mu.Unlock()
		text, total := o.since(from)
		t.mu.Lock()
		j.read = max(j.read, total)
		t.mu.Unlock()
		if text == "" {
			text = "[nothing new]"
		}
		return withNewline(text) + state
	})
}

// poll waits, if it shall, until there is something new.
func (t *processTool) poll(ctx context.Context, j *job, seconds int) (tools.Result, error) {
	t.mu.Lock()
	o, from := j.out, j.read
	t.mu.Unlock()
	if seconds <= 0 || o == nil {
		return t.news(j), nil
	}
	timer := time.NewTimer(bounded(seconds))
	defer timer.Stop()
	for {
		total, changed := o.size()
		if total > from {
			return t.news(j), nil
		}
		select {
		case <-changed:
		case <-j.done:
			return t.news(j), nil
		case <-timer.C:
			return t.news(j), nil
		case <-ctx.Done():
			return tools.Result{}, context.Cause(ctx)
		}
	}
}

// await waits until a job ends; the person sees meanwhile what it says.
func (t *processTool) await(ctx context.Context, scope tools.Scope, j *job, seconds int) (tools.Result, error) {
	t.mu.Lock()
	o := j.out
	t.mu.Unlock()
	if o != nil {
		o.look(scope.Tell)
		defer o.look(nil)
	}
	limit := usualWait
	if seconds > 0 {
		limit = bounded(seconds)
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-j.done:
	case <-timer.C:
	case <-ctx.Done():
		return tools.Result{}, context.Cause(ctx)
	}
	return t.news(j), nil
}

// bounded is a wait of so many seconds, but not too long.
func bounded(seconds int) time.Duration {
	return time.Duration(min(seconds, int(MaxTimeout/time.Second))) * time.Second
}

func (t *processTool) write(j *job, a processArguments) tools.Result {
	t.mu.Lock()
	ended, command := j.ended, j.command
	t.mu.Unlock()
	if ended || command == nil {
		return tools.Wrongf("It has ended, so nothing can be typed into it.")
	}
	if err := command.typed(a.Input, a.Close, time.Now().Add(writeTime)); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return tools.Wrongf("It did not take all of that within %v: it does not read its input now.", writeTime)
		}
		return tools.Wrongf("It does not take input any more: %v.", startError(err))
	}
	return tools.Result{Text: "Typed. `poll` shows what it says."}
}

// typed types a text into a running command before a deadline, and then ends its input if that is wanted.
func (r *running) typed(text string, end bool, deadline time.Time) error {
	if err := r.input.SetWriteDeadline(deadline); err != nil {
		return err
	}
	if end && r.input == r.ours { // a terminal
		text += "\x04"
	}
	if _, err := r.input.WriteString(text); err != nil || !end || r.input == r.ours {
		return err
	}
	return r.input.Close()
}

func (t *processTool) kill(j *job) tools.Result {
	t.mu.Lock()
	begun := j.ended || j.cancel != nil
	t.mu.Unlock()
	if !begun {
		return tools.Wrongf("It is just being started. Try again.")
	}
	t.end(errKilled, func(other *job) bool { return other == j })
	return t.news(j)
}
