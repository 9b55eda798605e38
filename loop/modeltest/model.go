// Package modeltest has a scripted loop.Model for tests, where each call plays the next Step of a script and is recorded,
// and the contract (Run) that every API mode passes.
//
// The scripted model is as strict as a provider: a request whose ledger is not valid is refused as a bad request. It
// starts no goroutine and may be used from any.
package modeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// Step plays one model call.
type Step func(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error)

// Model plays its steps in order, one a call; after the last one every call is refused.
type Model struct {
	mu       sync.Mutex
	steps    []Step
	requests []loop.Request
	broken   []error
}

// New returns a model that plays a script.
func New(steps ...Step) *Model { return &Model{steps: steps} }

// Name implements loop.Model.
func (m *Model) Name() string { return "scripted" }

// Call implements loop.Model.
func (m *Model) Call(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
	step, err := m.take(req)
	if err != nil {
		return loop.Reply{}, err
	}
	if ctx.Err() != nil {
		return loop.Reply{}, context.Cause(ctx)
	}
	reply, err := step(ctx, req, onText)
	if err == nil && reply.Usage == (sessions.Usage{}) {
		reply.Usage = usage(req, reply.Message)
	}
	return reply, err
}

func (m *Model) take(req loop.Request) (Step, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	req.Messages = slices.Clone(req.Messages)
	m.requests = append(m.requests, req)
	if err := loop.CheckLedger(req.Messages); err != nil {
		m.broken = append(m.broken, err)
		return nil, &loop.ModelError{Class: loop.ModelBadRequest, Err: err}
	}
	if len(m.steps) == 0 {
		err := errors.New("the script is over")
		m.broken = append(m.broken, err)
		return nil, &loop.ModelError{Class: loop.ModelBadRequest, Err: err}
	}
	step := m.steps[0]
	m.steps = m.steps[1:]
	return step, nil
}

// Add puts steps at the end of the script.
func (m *Model) Add(steps ...Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps = append(m.steps, steps...)
}

// Requests returns the requests so far.
func (m *Model) Requests() []loop.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Broken returns what the model had to refuse: broken ledgers and calls after the end of the script. A test whose
// script is complete wants nil.
func (m *Model) Broken() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Join(m.broken...)
}

// usage counts four bytes as a token.
func usage(req loop.Request, reply sessions.Message) sessions.Usage {
	in := len(req.System) + len(req.Tools) + len(req.Hint)
	for _, m := range req.Messages {
		in += size(m)
	}
	return sessions.Usage{Input: in/4 + 1, Output: size(reply)/4 + 1}
}

func size(m sessions.Message) int {
	n := len(m.Text)
	for _, c := range m.ToolCalls {
		n += len(c.Name) + len(c.Arguments)
	}
	return n
}

// Text says a text, in two pieces.
func Text(text string) Step {
	return func(_ context.Context, _ loop.Request, onText func(string)) (loop.Reply, error) {
		half := len(text) / 2
		onText(text[:half])
		onText(text[half:])
		return loop.Reply{
			Message: sessions.Message{Role: sessions.RoleAssistant, Text: text}, Finish: loop.FinishStop,
		}, nil
	}
}

// Call asks for one tool call with the id "c<number of messages>".
func Call(name, arguments string) Step {
	return func(_ context.Context, req loop.Request, _ func(string)) (loop.Reply, error) {
		id := fmt.Sprintf("c%d", len(req.Messages))
		return asking("", loop.FinishTools, sessions.ToolCall{ID: id, Name: name, Arguments: arguments}), nil
	}
}

// Calls says a text, which may be empty, and asks for tool calls, just as they are.
func Calls(text string, calls ...sessions.ToolCall) Step {
	return func(_ context.Context, _ loop.Request, onText func(string)) (loop.Reply, error) {
		if text != "" {
			onText(text)
		}
		return asking(text, loop.FinishTools, calls...), nil
	}
}

// Reply returns exactly this reply.
func Reply(r loop.Reply) Step {
	return func(context.Context, loop.Request, func(string)) (loop.Reply, error) { return r, nil }
}

func asking(text string, finish loop.Finish, calls ...sessions.ToolCall) loop.Reply {
	return loop.Reply{
		Message: sessions.Message{Role: sessions.RoleAssistant, Text: text, ToolCalls: slices.Clone(calls)}, Finish: finish,
	}
}

// Empty says nothing.
func Empty() Step { return Reply(loop.Reply{Finish: loop.FinishStop}) }

// Fail fails with an error of a class; wait is what the provider asks to wait, 0 = nothing.
func Fail(class loop.ErrorClass, wait time.Duration) Step {
	return func(context.Context, loop.Request, func(string)) (loop.Reply, error) {
		return loop.Reply{}, &loop.ModelError{Class: class, Wait: wait, Err: errors.New("scripted")}
	}
}

// Block says a text and then waits for the end of the context.
func Block(text string) Step {
	return func(ctx context.Context, _ loop.Request, onText func(string)) (loop.Reply, error) {
		if text != "" {
			onText(text)
		}
		<-ctx.Done()
		return loop.Reply{}, context.Cause(ctx)
	}
}

// After waits, interruptibly, before it plays a step.
func After(wait time.Duration, then Step) Step {
	return func(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
		select {
		case <-time.After(wait):
			return then(ctx, req, onText)
		case <-ctx.Done():
			return loop.Reply{}, context.Cause(ctx)
		}
	}
}

// WithUsage plays a step and reports this usage instead of the counted one.
func WithUsage(u sessions.Usage, then Step) Step {
	return func(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
		r, err := then(ctx, req, onText)
		r.Usage = u
		return r, err
	}
}
