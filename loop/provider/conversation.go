package provider

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// What stands where a message would be empty, which providers refuse.
const (
	emptyText      = "(empty)"
	emptyArguments = "{}"
)

// Conversation is a request made fit for any provider: declarations read, call ids and names that all of them take,
// arguments that are JSON objects, no empty text where there must be one, and no reasoning but the provider's own. The
// same beginning of a request gives the same beginning here.
type Conversation struct {
	System    string
	Tools     []Tool             // shared: not to be changed
	NoTools   bool               // the model may not call any of them now
	Messages  []sessions.Message // may be shared: not to be changed
	Images    []Image            // for this call only, before the texts of their messages, which are users'
	Note      string             // for this call only, to stand after everything else; empty = none
	MaxOutput int                // tokens, 0 = the provider's default
}

// Image is a picture, of one of the messages.
type Image struct {
	Type, Base64 string
	At           int // index of the message
}

// URL returns the picture as a data URL.
func (i Image) URL() string { return "data:" + i.Type + ";base64," + i.Base64 }

// Tool is a declared tool. It is as loop.Declare writes it, in no provider's format.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// declarations are the tools that a request declared, beside what they were read from. One prompt declares the same for
// all of its requests, and they are longer than what a request adds.
type declarations struct {
	written json.RawMessage
	tools   []Tool // not to be changed
}

// read returns what was written, which these declarations are already if nothing has changed.
func (d *declarations) read(written json.RawMessage) (*declarations, error) {
	if d != nil && bytes.Equal(d.written, written) {
		return d, nil
	}
	read := &declarations{written: written}
	if len(written) > 0 {
		if err := json.Unmarshal(written, &read.tools); err != nil {
			return nil, fmt.Errorf("read tool declarations: %w", err)
		}
	}
	return read, nil
}

// prepare makes a conversation of a request, for the provider that can read its own reasoning.
func prepare(req loop.Request, tools []Tool, provider string) (Conversation, error) {
	c := Conversation{
		System: req.System, Tools: tools, MaxOutput: req.MaxOutput,
		Messages: make([]sessions.Message, 0, len(req.Messages)+1), // with room for the note
	}
	c.NoTools = req.NoTools && len(c.Tools) > 0
	if req.Hint != "" {
		c.Note = "[Note from the runtime, not from a person: " + req.Hint + "]"
	}
	ids := callIDs{used: make(map[string]bool, len(req.Messages)), current: map[string]string{}}
	for _, m := range req.Messages {
		c.Messages = append(c.Messages, fit(m, provider, &ids))
	}
	return c, c.show(req.Images)
}

// show adds pictures.
func (c *Conversation) show(all []loop.Image) error {
	for _, i := range all {
		if i.At < 0 || i.At >= len(c.Messages) || c.Messages[i.At].Role != sessions.RoleUser {
			return errors.New("pictures belong to a user's message")
		}
		c.Images = append(c.Images, Image{i.Type, base64.StdEncoding.EncodeToString(i.Data), i.At})
	}
	return nil
}

// ImagesAt returns the pictures of a message.
func (c Conversation) ImagesAt(message int) (all []Image) {
	for _, i := range c.Images {
		if i.At == message {
			all = append(all, i)
		}
	}
	return all
}

func fit(m sessions.Message, provider string, ids *callIDs) sessions.Message {
	out := sessions.Message{Role: m.Role, Text: strings.ToValidUTF8(m.Text, "\ufffd")}
	if strings.TrimSpace(m.Text) == "" {
		out.Text = ""
		if m.Role != sessions.RoleAssistant {
			out.Text = emptyText
		}
	}
	if m.Role == sessions.RoleTool {
		out.ToolCallID = ids.result(m.ToolCallID)
	}
	ids.begin(m)
	for _, call := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, sessions.ToolCall{
			ID: ids.call(call.ID), Name: fitName(call.Name), Arguments: fitArguments(call.Arguments),
		})
	}
	for _, o := range m.Reasoning {
		if o.Provider == provider && json.Valid(o.Data) {
			out.Reasoning = append(out.Reasoning, o)
		}
	}
	return out
}

// fitName makes a name of a tool that providers take of what a model once wrote. They refuse a history with any other
// name in it, although the call with it was refused already.
func fitName(written string) string {
	clean := strings.Map(func(r rune) rune {
		if isWordByte(r) {
			return r
		}
		return '_'
	}, written)
	return clean[:min(len(clean), 64)]
}

func isWordByte(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// fitArguments makes a JSON object of what a model once wrote. Providers refuse a history with anything else in it,
// so broken arguments go back as the string that they were.
func fitArguments(written string) string {
	if strings.TrimSpace(written) == "" {
		return emptyArguments
	}
	if strings.HasPrefix(strings.TrimLeft(written, " \t\r\n"), "{") && json.Valid([]byte(written)) {
		return strings.ToValidUTF8(written, "\ufffd")
	}
	quoted, err := json.Marshal(map[string]string{"not_json": written})
	if err != nil {
		return emptyArguments
	}
	return string(quoted)
}

// Noted returns the messages with the note at their end. It is a user message, or part of the last one: several chat
// templates refuse a system message that is not the first, or two user messages in a row.
func (c Conversation) Noted() []sessions.Message {
	if c.Note == "" {
		return c.Messages
	}
	if last := len(c.Messages) - 1; last >= 0 && c.Messages[last].Role == sessions.RoleUser {
		out := slices.Clone(c.Messages)
		out[last].Text += "\n\n" + c.Note
		return out
	}
	return append(c.Messages, sessions.Message{Role: sessions.RoleUser, Text: c.Note})
}

// reasons tells whether reasoning of earlier replies goes back to the provider.
func (c Conversation) reasons() bool {
	return slices.ContainsFunc(c.Messages, func(m sessions.Message) bool { return len(m.Reasoning) > 0 })
}

func (c Conversation) withoutReasoning() Conversation {
	c.Messages = slices.Clone(c.Messages)
	for i := range c.Messages {
		c.Messages[i].Reasoning = nil
	}
	return c
}

// Part is a piece of an assistant message: one of its fields is set.
type Part struct {
	Text   string
	Call   *sessions.ToolCall
	Opaque json.RawMessage
}

// Parts takes an assistant message apart, in the order in which the model wrote it, as far as that is known. Reasoning
// that nothing follows any more is left out: providers refuse it.
func Parts(m sessions.Message) []Part {
	var parts []Part
	texts, calls := 0, 0
	upTo := func(text, call int) {
		text, call = min(text, len(m.Text)), min(call, len(m.ToolCalls))
		for text > texts && text < len(m.Text) && !utf8.RuneStart(m.Text[text]) {
			text--
		}
		if text > texts {
			if piece := m.Text[texts:text]; strings.TrimSpace(piece) != "" {
				parts = append(parts, Part{Text: piece})
			}
			texts = text
		}
		for ; calls < call; calls++ {
			parts = append(parts, Part{Call: &m.ToolCalls[calls]})
		}
	}
	for _, o := range m.Reasoning {
		upTo(o.Text, o.Calls)
		parts = append(parts, Part{Opaque: o.Data})
	}
	upTo(len(m.Text), len(m.ToolCalls))
	for len(parts) > 0 && parts[len(parts)-1].Opaque != nil {
		parts = parts[:len(parts)-1]
	}
	return parts
}
