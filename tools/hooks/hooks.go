// Package hooks lets the operator's own programs look at tool calls: a program gets what is known of a call as JSON on
// its standard input and says as JSON on its standard output whether it may run, or what the model should know about it.
//
// A program runs on the goroutine of the call, one process a call, and is gone, with all of its process group, when Before
// or After returns. It learns nothing of the gateway's environment but PATH, HOME and LANG. It does not run in the tools'
// sandbox, because it is the operator's.
package hooks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// When says at which moment of a call a program is asked.
type When string

const (
	Before When = "before"
	After  When = "after"
)

const (
	// DefaultTimeout is how long a program may take for which nothing else is said.
	DefaultTimeout = 5 * time.Second
	maxAnswer      = 64 << 10 // bytes of a program's output
	closing        = time.Second
)

// Command is a program that looks at calls. It implements tools.Hook.
type Command struct {
	When    When
	Tools   []string      // patterns of names of tools ("terminal", "mcp_*"); empty = all
	Command []string      // the program and its arguments
	Timeout time.Duration // 0 = DefaultTimeout
}

// Event is what a program reads.
type Event struct {
	When         When            `json:"when"`
	Tool         string          `json:"tool"`
	Toolset      string          `json:"toolset"`
	Risk         tools.Risk      `json:"risk"`
	Arguments    json.RawMessage `json:"arguments"`
	Conversation string          `json:"conversation"`
	Task         string          `json:"task"`
	Call         string          `json:"call"`
	Requester    string          `json:"requester"`
	Work         string          `json:"work"`
	Result       *Result         `json:"result,omitempty"` // after the call
}

// Result is what the call returned.
type Result struct {
	Text   string `json:"text"`
	Failed bool   `json:"failed"`
}

// Answer is what a program writes. Nothing at all means: allow, and nothing to say.
type Answer struct {
	Decision string `json:"decision"` // "allow" or "deny"; empty = allow
	Reason   string `json:"reason"`   // of a refusal
	Note     string `json:"note"`     // for the model
}

// Before implements tools.Hook.
func (c Command) Before(ctx context.Context, scope tools.Scope, spec tools.Spec, arguments json.RawMessage) (tools.Say, error) {
	return c.ask(ctx, Before, scope, spec, arguments, nil)
}

// After implements tools.Hook.
func (c Command) After(ctx context.Context, scope tools.Scope, spec tools.Spec, arguments json.RawMessage, result tools.Result) (tools.Say, error) {
	return c.ask(ctx, After, scope, spec, arguments, &Result{Text: result.Text, Failed: result.Failed})
}

func (c Command) ask(ctx context.Context, when When, scope tools.Scope, spec tools.Spec, arguments json.RawMessage, result *Result) (tools.Say, error) {
	if c.When != when || !c.about(spec.Name) {
		return tools.Say{}, nil
	}
	event, err := json.Marshal(Event{
		When: when, Tool: spec.Name, Toolset: spec.Toolset, Risk: spec.Risk, Arguments: arguments,
		Conversation: scope.Conversation, Task: scope.Turn, Call: scope.CallID, Requester: scope.Requester, Work: scope.Work,
		Result: result,
	})
	if err != nil {
		return tools.Say{}, fmt.Errorf("write event for hook %s: %w", c.Command[0], err)
	}
	out, err := c.run(ctx, event)
	if err != nil {
		return tools.Say{}, fmt.Errorf("hook %s: %w", c.Command[0], err)
	}
	return read(c.Command[0], out)
}

// about tells whether the program wants to know about a tool.
func (c Command) about(tool string) bool {
	return len(c.Tools) == 0 || slices.ContainsFunc(c.Tools, func(pattern string) bool {
		match, _ := path.Match(pattern, tool)
		return match
	})
}

// read understands a program's answer.
func read(name string, out []byte) (tools.Say, error) {
	if len(bytes.TrimSpace(out)) == 0 {
		return tools.Say{}, nil
	}
	var answer Answer
	if err := json.Unmarshal(out, &answer); err != nil {
		return tools.Say{}, fmt.Errorf("hook %s: its answer is no JSON: %w", name, err)
	}
	switch answer.Decision {
	case "", "allow":
		return tools.Say{Note: answer.Note}, nil
	case "deny":
		return tools.Say{Deny: true, Reason: cmp.Or(answer.Reason, answer.Note)}, nil
	}
	return tools.Say{}, fmt.Errorf("hook %s: decision %q is neither allow nor deny", name, answer.Decision)
}

// run runs the program and returns what it wrote. A status other than 0 is an error.
func (c Command) run(ctx context.Context, event []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Timeout, DefaultTimeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Command[0], c.Command[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LANG=" + cmp.Or(os.Getenv("LANG"), "C.UTF-8")}
	cmd.Stdin = bytes.NewReader(event)
	out, trouble := &bounded{}, &bounded{}
	cmd.Stdout, cmd.Stderr = out, trouble
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = closing
	err := cmd.Run()
	if cmd.Process != nil { // what it left behind in its group
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("no answer in time: %w", ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(trouble.buffer.Bytes()))
	case out.over:
		return nil, errors.New("its answer is too long")
	}
	return out.buffer.Bytes(), nil
}

// bounded takes in maxAnswer bytes and drops the rest.
type bounded struct {
	buffer bytes.Buffer
	over   bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := min(maxAnswer-b.buffer.Len(), len(p))
	b.over = b.over || room < len(p)
	b.buffer.Write(p[:room])
	return len(p), nil
}
