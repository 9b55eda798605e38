// Package tools is the contract for what a model can do: the Tool, the Registry that knows which exist, the validation
// of arguments, and the approval policy (pure) with the port through which a person is asked.
//
// A tool knows no chat platform and no model; all it learns about where it runs is the Scope. Tools may be called from
// any goroutine, several at once if their Spec says Parallel. When Call returns, nothing that it started still runs
// in the foreground: processes are killed and reaped first.
package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Risk says what a call can do at worst. The approval policy decides by it.
type Risk string

const (
	ReadOnly Risk = "read-only" // sees only what the conversation may see
	Writes   Risk = "writes"    // changes files in the conversation's own work folder
	Executes Risk = "executes"  // runs programs
	Outside  Risk = "outside"   // changes something beyond the work folder: sends messages, plans jobs, calls other services
)

// Tool is something that a model can call.
type Tool interface {
	Spec() Spec
	// Call runs the tool with arguments that match the schema. What goes wrong for the model to read is a Result with
	// Failed set; an error is trouble of the infrastructure, or the context's end.
	Call(ctx context.Context, scope Scope, arguments json.RawMessage) (Result, error)
}

// Spec describes a tool to the registry, the model and the approval policy.
type Spec struct {
	Name        string
	Toolset     string
	Description string // for the model, Markdown
	Schema      *jsonschema.Schema
	Risk        Risk
	Parallel    bool          // may run beside other parallel calls of one reply
	Ranged      bool          // its result has a page limit of its own and is not cut to head and tail
	Timeout     time.Duration // of one call; 0 = the loop's default
	// Paths returns the files that a call reads or writes, so that calls which touch the same one keep their order;
	// nil = none.
	Paths func(arguments json.RawMessage) []string
	// Check looks at what arguments mean, after they were found to match the schema: times, paths, ids. What it returns
	// goes back to the model, and the call does not run; nil = nothing to check.
	Check func(arguments json.RawMessage) []Problem
	// Untrusted: its results hold what strangers may have written. The model gets them marked as data.
	Untrusted bool
	// Verifies: a call that ran, whatever came out, counts as a check of the files that were changed before it.
	Verifies bool
	// Substitute names the tool to use instead once this one has failed too often in a task; empty = none.
	Substitute string
	// Judge says which of its calls need a person's permission, by what they would do; nil or no verdict = by the risk alone. It is pure.
	Judge func(scope Scope, arguments json.RawMessage) Judgement
	// Preview returns one short line that tells a person what the call is about; nil = the arguments themselves.
	Preview func(arguments json.RawMessage) string
	// Details returns all that a call would do, for the person who is asked for permission; nil = the preview says it.
	Details func(arguments json.RawMessage) string
}

// Scope is where and for whom a call runs.
type Scope struct {
	Conversation string // session key
	Turn         string // task id
	CallID       string
	Requester    string // stable id of the person who started the turn
	Chat         string // where the person writes, all threads of it together; empty = nowhere
	Parent       string // the turn that a sub-agent works for; empty = this is none
	Work         string // absolute path of the conversation's work folder; it exists
	Reply        string // names the place where answers go, to whoever made the scope
	// Grants are what a person's permission for this call included.
	Grants []Grant
	// Tell lets people see what a running call has to say, before its result: a few last lines, as plain text. Only the latest
	// counts, and it may never be seen. It does not block, and may be called from any goroutine; nil = nobody looks.
	Tell func(text string)
}

// Person names the person who started the turn within the chat: what is kept about people is kept under it. It is empty
// where there is no chat.
func (s Scope) Person() string {
	if s.Chat == "" || s.Requester == "" {
		return ""
	}
	return s.Chat + "/" + s.Requester
}

// Result is what the model gets to read.
type Result struct {
	Text   string
	Failed bool
	Class  Failure // of a failed one; empty = FailTool
}

// Failf returns a failed result: the tool does not work.
func Failf(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), Failed: true}
}

// Wrongf returns a failed result that the caller can put right: what was asked for is not there or makes no sense.
func Wrongf(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), Failed: true, Class: FailArguments}
}

// New makes a Tool from a function with typed arguments; the schema is derived from the type A (json and jsonschema
// tags). It fails if A has no schema.
func New[A any](spec Spec, call func(ctx context.Context, scope Scope, arguments A) (Result, error)) (Tool, error) {
	schema, err := jsonschema.For[A](nil)
	if err != nil {
		return nil, fmt.Errorf("derive schema of tool %s: %w", spec.Name, err)
	}
	spec.Schema = schema
	return typed[A]{spec, call}, nil
}

type typed[A any] struct {
	spec Spec
	call func(context.Context, Scope, A) (Result, error)
}

func (t typed[A]) Spec() Spec { return t.spec }

func (t typed[A]) Call(ctx context.Context, scope Scope, arguments json.RawMessage) (Result, error) {
	var a A
	if err := json.Unmarshal(arguments, &a); err != nil {
		return Wrongf("The arguments could not be read: %v.", err), nil
	}
	return t.call(ctx, scope, a)
}
