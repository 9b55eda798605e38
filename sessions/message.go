package sessions

import (
	"encoding/json"
	"strings"
)

// Role says who speaks in a message of the ledger. There is no system role: the system prompt is not part of the
// ledger but of the session (see PromptBuilt).
type Role string

const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool" // the result of one tool call
)

// Message is the one internal format of what a model sees and says. Providers convert it at their edge.
type Message struct {
	Role       Role       `json:"role"`
	Text       string     `json:"text,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`   // of an assistant message, in call order
	ToolCallID string     `json:"tool_call_id,omitempty"` // of a tool message: the call that it answers
	Reasoning  []Opaque   `json:"reasoning,omitempty"`    // of an assistant message, in the order in which it came
	Pictures   []Picture  `json:"pictures,omitempty"`     // of a user message: what came with it, to be shown to a model that sees
}

// Picture is a picture that came with a message. The log has no more of it than this: a model is shown it while the turn
// runs that it came to, and after that there is the file.
type Picture struct {
	File   string `json:"file"`   // where it is kept, below the conversation's work folder
	Digest string `json:"digest"` // SHA-256 of its content in hex, so that nothing else under its name is taken for it
}

// Opaque is a piece of a model's reasoning as its provider wants it back: encrypted, signed, or in a form of its own.
// Nobody else can read it, so it goes back to that provider only, unchanged, and stays out of every other prompt. Where
// it stood in the message matters to some: Text and Calls say how much of the message came before it.
type Opaque struct {
	Provider string          `json:"provider"`        // API mode, host and model
	Text     int             `json:"text,omitempty"`  // bytes of the message's text before it
	Calls    int             `json:"calls,omitempty"` // tool calls before it
	Data     json.RawMessage `json:"data"`            // compact, so that storing it does not change its bytes
}

// ToolCall is a model's request to run a tool. Arguments is the JSON text exactly as the model wrote it; it may be
// anything until it has been validated.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Usage counts the tokens of one model call, or of several added up, as the provider reported them.
type Usage struct {
	Input  int `json:"input"`            // the whole prompt, the cached part included
	Output int `json:"output"`           // everything generated, reasoning included
	Cached int `json:"cached,omitempty"` // the part of Input that came from the provider's cache

	Reasoning int `json:"reasoning,omitempty"` // the part of Output that was reasoning, as far as the provider says
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		Cached: u.Cached + v.Cached, Reasoning: u.Reasoning + v.Reasoning,
	}
}

// Blank tells whether a message says nothing: no text but white space and no tool call.
func (m Message) Blank() bool {
	return strings.TrimSpace(m.Text) == "" && len(m.ToolCalls) == 0
}
