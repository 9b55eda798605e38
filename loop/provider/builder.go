package provider

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// maxReply bounds what a runaway model can make us keep, text, arguments and reasoning together, in bytes.
const maxReply = 16 << 20

// Builder puts a reply together. It belongs to one call.
type Builder struct {
	Usage sessions.Usage // as reported so far

	x        *Exchange
	provider string
	onText   func(string)
	history  []sessions.Message
	text     strings.Builder
	calls    []*Call
	opaque   []sessions.Opaque
	size     int
	finish   loop.Finish // "" until the provider gave a reason
}

// Call is a tool call that is coming in.
type Call struct {
	ID, Name  string // may come later than the call itself
	b         *Builder
	arguments strings.Builder
}

func newBuilder(x *Exchange, c Conversation, provider string, onText func(string)) *Builder {
	return &Builder{x: x, provider: provider, onText: onText, history: c.Messages}
}

// Begun tells whether anything of a reply came.
func (b *Builder) Begun() bool { return b.text.Len() > 0 || len(b.calls) > 0 }

func (b *Builder) grow(n int) {
	if b.size += n; b.size > maxReply {
		b.x.cancel(BadRequest("the reply is longer than %d MiB", maxReply>>20))
	}
}

// Text adds a piece of text and tells the caller.
func (b *Builder) Text(s string) {
	if s == "" {
		return
	}
	b.grow(len(s))
	b.text.WriteString(s)
	if b.onText != nil {
		b.onText(s)
	}
}

// Call begins a tool call. What is not known yet can be set later.
func (b *Builder) Call(id, name string) *Call {
	call := &Call{ID: id, Name: name, b: b}
	b.calls = append(b.calls, call)
	return call
}

// Arguments adds a piece of the call's arguments.
func (c *Call) Arguments(s string) {
	c.b.grow(len(s))
	c.arguments.WriteString(s)
}

// Complete sets the arguments, if no piece of them came.
func (c *Call) Complete(s string) {
	if c.arguments.Len() == 0 {
		c.Arguments(s)
	}
}

// Reasoning keeps a piece of reasoning that the provider will want back. What is no JSON is left out.
func (b *Builder) Reasoning(raw []byte) {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return
	}
	data, err := json.Marshal(json.RawMessage(compact.Bytes())) // escaped as it will be when it is stored
	if err != nil {
		return
	}
	b.grow(len(data))
	b.opaque = append(b.opaque, sessions.Opaque{
		Provider: b.provider, Text: b.text.Len(), Calls: len(b.calls), Data: data,
	})
}

// Finish says that the reply is complete, and why; what is said first counts. Only usage and the end of the stream can
// still come.
func (b *Builder) Finish(reason loop.Finish) {
	if b.finish == "" {
		b.finish = reason
	}
	b.x.expectEnd()
}

// reply returns what was put together. A call without a name cannot be run nor sent back to the provider, so it is
// left out; a call without an id of its own gets one.
func (b *Builder) reply() loop.Reply {
	message := sessions.Message{Role: sessions.RoleAssistant, Text: b.text.String(), Reasoning: b.opaque}
	for _, call := range b.calls {
		if strings.TrimSpace(call.Name) == "" {
			continue
		}
		id := call.ID
		if id == "" || hasCall(message, id) || slices.ContainsFunc(b.history, func(m sessions.Message) bool { return hasCall(m, id) }) {
			id = "call_" + rand.Text()
		}
		message.ToolCalls = append(message.ToolCalls, sessions.ToolCall{
			ID: id, Name: call.Name, Arguments: call.arguments.String(),
		})
	}
	return loop.Reply{Message: message, Usage: b.Usage, Finish: b.reason(message)}
}

func hasCall(m sessions.Message, id string) bool {
	return slices.ContainsFunc(m.ToolCalls, func(c sessions.ToolCall) bool { return c.ID == id })
}

// reason believes the calls rather than the word: some servers say "stop" with calls, or "tool_calls" without.
func (b *Builder) reason(message sessions.Message) loop.Finish {
	switch {
	case b.finish == loop.FinishLength || b.finish == loop.FinishFiltered:
		return b.finish
	case len(message.ToolCalls) > 0:
		return loop.FinishTools
	}
	return loop.FinishStop
}
