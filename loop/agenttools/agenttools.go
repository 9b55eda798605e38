// Package agenttools has the tools that work on the conversation itself instead of on the world: the list of things to
// do, questions to the person, notes about the person, the search in the past, and sub-agents.
//
// They are declared like all tools and executed against the session of the turn that calls them (loop.SessionTool):
// what they change are entries that are committed with their result. Only delegate_task starts goroutines, and it waits
// for them. Nothing here reaches into another conversation: where a tool looks and writes follows from the scope of the
// call, never from its arguments.
package agenttools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

var (
	//go:embed todo.md
	todoDescription string
	//go:embed memory.md
	memoryDescription string
	//go:embed session_search.md
	searchDescription string
	//go:embed delegate_task.md
	delegateDescription string
	//go:embed clarify.md
	clarifyDescription string
)

// agentTool is a loop.SessionTool made of a function with typed arguments.
type agentTool[A any] struct {
	tools.Tool
	call func(ctx context.Context, call loop.SessionCall, arguments A) (tools.Result, []sessions.Entry, error)
}

// newTool derives the schema from the type of the arguments; enums gives the possible values of some of them.
func newTool[A any](spec tools.Spec, enums map[string][]any, call func(context.Context, loop.SessionCall, A) (tools.Result, []sessions.Entry, error)) (tools.Tool, error) {
	plain, err := tools.New(spec, func(context.Context, tools.Scope, A) (tools.Result, error) {
		return tools.Failf("%s works only within a turn.", spec.Name), nil
	})
	if err != nil {
		return nil, err
	}
	for name, values := range enums {
		plain.Spec().Schema.Properties[name].Enum = values
	}
	return agentTool[A]{plain, call}, nil
}

// CallSession implements loop.SessionTool.
func (t agentTool[A]) CallSession(ctx context.Context, call loop.SessionCall, arguments json.RawMessage) (tools.Result, []sessions.Entry, error) {
	var a A
	if err := json.Unmarshal(arguments, &a); err != nil {
		return tools.Wrongf("The arguments could not be read: %v.", err), nil, nil
	}
	return t.call(ctx, call, a)
}

// clip shortens a text to n runes.
func clip(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n]) + "…"
	}
	return text
}

// count returns a number of things, in words: "1 item", "2 items".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
