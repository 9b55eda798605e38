package loop

import (
	"context"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// Tape stands between a turn and all that the loop does not decide itself: what models, tools and people say. One that
// records hands everything on and writes down what came back; one that plays hands nothing on and says what was written
// down. Package loop/recording has both.
//
// A lane names who of a turn is at work: empty is the turn itself, "CALL.N/" sub-agent N of a call. What happens in one
// lane has an order, but for tool calls, which are told apart by their ids. The methods are called from any goroutine,
// Moved and Model of one lane from one at a time.
type Tape interface {
	// Model makes a model call. The lane of one that writes a summary ends in "summary".
	Model(ctx context.Context, lane string, m Model, req Request, onText func(string)) (Reply, error)
	// Look finds out about a call what can be known before it runs. It may be asked for twice.
	Look(lane string, call sessions.ToolCall, look func() Look) Look
	// Tool runs a call, tries and hooks included.
	Tool(ctx context.Context, lane string, call sessions.ToolCall, run func() Returned) Returned
	// Approve asks a person for permission for a call.
	Approve(ctx context.Context, lane, call string, ask func() (tools.Decision, error)) (tools.Decision, error)
	// Answer asks a person a question that a call has.
	Answer(ctx context.Context, lane, call string, ask func() (tools.Answer, error)) (tools.Answer, error)
	// Moved tells of a transition.
	Moved(lane string, from State, signal string, to State)
}

// Look is what a tool and the policy say about a call before it runs.
type Look struct {
	Problems []tools.Problem // with what the arguments mean; if there are any, the rest is empty
	Paths    []string
	Preview  string
	Judged   tools.Judgement
}

// straight is the tape of a turn that has none.
type straight struct{}

func (straight) Model(ctx context.Context, _ string, m Model, req Request, onText func(string)) (Reply, error) {
	return m.Call(ctx, req, onText)
}

func (straight) Look(_ string, _ sessions.ToolCall, look func() Look) Look { return look() }

func (straight) Tool(_ context.Context, _ string, _ sessions.ToolCall, run func() Returned) Returned {
	return run()
}

func (straight) Approve(_ context.Context, _, _ string, ask func() (tools.Decision, error)) (tools.Decision, error) {
	return ask()
}

func (straight) Answer(_ context.Context, _, _ string, ask func() (tools.Answer, error)) (tools.Answer, error) {
	return ask()
}

func (straight) Moved(string, State, string, State) {}
