package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// Request is a request in the words of chat completions, to which those of the other protocols are translated. Its fields are those that the protocol documents; Parse refuses others.
type Request struct {
	Model               string          `json:"model"`
	Messages            []Message       `json:"messages"`
	Tools               []Tool          `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls"`
	Stream              bool            `json:"stream"`
	StreamOptions       *StreamOptions  `json:"stream_options"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	N                   *int            `json:"n"`
	Seed                *int            `json:"seed"`
	Stop                json.RawMessage `json:"stop"`
	User                string          `json:"user"`
	ReasoningEffort     string          `json:"reasoning_effort"`
	ResponseFormat      json.RawMessage `json:"response_format"`

	// Body is the request as it came, in the words of its own protocol.
	Body json.RawMessage `json:"-"`

	messages []json.RawMessage // as they came
	tools    json.RawMessage
	blocks   []promptBlock // in place of both, in the Messages protocol
}

// StreamOptions is the part of a request about its stream.
type StreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// Message is a message of a request.
type Message struct {
	Role       string     `json:"role"`
	Content    *Content   `json:"content"` // nil = missing or null
	Name       string     `json:"name"`
	Refusal    *string    `json:"refusal"`
	ToolCalls  []ToolCall `json:"tool_calls"` // nil = missing
	ToolCallID string     `json:"tool_call_id"`

	ReasoningContent *string           `json:"reasoning_content"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
}

// Text returns the content, "" if there is none.
func (m Message) Text() string {
	if m.Content == nil {
		return ""
	}
	return m.Content.Text
}

// Images returns the pictures of a message.
func (m Message) Images() []Image {
	if m.Content == nil {
		return nil
	}
	return m.Content.Images
}

// ToolCall is a call that the model made before.
type ToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"` // nil = missing
	} `json:"function"`
}

// Tool is a declared tool.
type Tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	} `json:"function"`
}

// Parse reads a chat completions request. Its errors are *Refusal.
func Parse(body []byte) (Request, error) {
	var req Request
	if err := strictly(body, &req); err != nil {
		return Request{}, err
	}
	var raw struct {
		Messages []json.RawMessage `json:"messages"`
		Tools    json.RawMessage   `json:"tools"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return Request{}, badRequest("the request cannot be read: %v", err)
	}
	req.Body, req.messages, req.tools = body, raw.Messages, raw.Tools
	return req, nil
}

// strictly reads JSON that has no field but those that v has. Its errors are *Refusal.
func strictly(body []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return badRequest("the request cannot be read: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return badRequest("something follows the request")
	}
	return nil
}

// prefix returns the bytes that a provider's cache goes by, in the order in which a model reads them.
func (r Request) prefix() string {
	var b strings.Builder
	for _, block := range r.blocks {
		b.WriteString(block.text)
	}
	b.Write(r.tools)
	for _, m := range r.messages {
		b.Write(m)
	}
	return b.String()
}

// Tokens estimates the size of the request.
func (r Request) Tokens() int {
	return tokens(len(r.prefix()))
}

// tokens estimates how many tokens so many bytes of English and JSON are.
func tokens(bytes int) int { return (bytes + 3) / 4 }

// Declares tells whether a tool may be called.
func (r Request) Declares(name string) bool {
	for _, t := range r.Tools {
		if t.Function.Name == name {
			return true
		}
	}
	return false
}

// NoTools tells whether the request forbids tool calls.
func (r Request) NoTools() bool { return string(r.ToolChoice) == `"none"` }

// runtimeNote is how a note begins that does not come from a person.
const runtimeNote = "[Note from the runtime"

// LastUser returns the newest message of a person, without notes from the runtime, and where it stands; -1 = nowhere.
func (r Request) LastUser() (text string, at int) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := r.Messages[i]; m.Role == "user" {
			text, _, _ := strings.Cut(m.Text(), runtimeNote)
			if text = strings.TrimSpace(text); text != "" {
				return text, i
			}
		}
	}
	return "", -1
}
