package openai

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// maxReply bounds what a runaway model can make us keep, text and arguments together, in bytes.
const maxReply = 16 << 20

// chunk is a piece of a stream, read as leniently as its senders are strict. Reasoning is not read.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Event   json.RawMessage `json:"talaria_error_event"` // see errorEvent
}

// errorEvent is the key under which exchange hands on the data of an event that was named "error".
const errorEvent = "talaria_error_event"

type choice struct {
	Index        int    `json:"index"`
	Delta        *delta `json:"delta"`
	Message      *delta `json:"message"` // in place of the delta, from servers that do not stream
	FinishReason string `json:"finish_reason"`
}

type delta struct {
	Content   text        `json:"content"`
	Refusal   text        `json:"refusal"` // the model's own words to the person
	ToolCalls []callDelta `json:"tool_calls"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

// text is a string, a list of parts with text in them, or nothing.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*t = text(s)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		*t += text(part.Text)
	}
	return nil
}

// arguments are a string with JSON in it or, against the protocol, the JSON itself.
type arguments string

func (a *arguments) UnmarshalJSON(raw []byte) error {
	var s string
	if bytes.Equal(raw, []byte("null")) || json.Unmarshal(raw, &s) == nil {
		*a = arguments(s)
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return err
	}
	*a = arguments(compact.String())
	return nil
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Details    *struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// assembly puts a reply together from the chunks of a stream.
type assembly struct {
	onText func(string)
	used   map[string]bool // call ids that are taken, in this reply or in the history
	text   strings.Builder
	calls  []*partialCall
	size   int
	usage  sessions.Usage
	finish string // the reason that the provider gave; "" until it came
}

type partialCall struct {
	index     *int
	id, name  string
	arguments strings.Builder
}

func newAssembly(history []sessions.Message, onText func(string)) *assembly {
	a := &assembly{onText: onText, used: map[string]bool{}}
	for _, m := range history {
		for _, call := range m.ToolCalls {
			a.used[call.ID] = true
		}
	}
	return a
}

// begun tells whether anything of a reply came.
func (a *assembly) begun() bool { return a.text.Len() > 0 || len(a.calls) > 0 }

// add takes the next chunk.
func (a *assembly) add(raw []byte) error {
	var c chunk
	if err := json.Unmarshal(raw, &c); err != nil {
		return network(errGarbled)
	}
	if failed := first(c.Error, c.Event); failed != nil && a.finish == "" {
		return classify(statusOK, nil, append(append([]byte(`{"error":`), failed...), '}'))
	}
	if c.Usage != nil {
		a.usage = sessions.Usage{Input: c.Usage.Prompt, Output: c.Usage.Completion}
		if c.Usage.Details != nil {
			a.usage.Cached = c.Usage.Details.Cached
		}
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		for _, d := range []*delta{choice.Delta, choice.Message} {
			if d != nil {
				a.addText(string(d.Content) + string(d.Refusal))
				for _, call := range d.ToolCalls {
					a.addCall(call)
				}
			}
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
	if a.size > maxReply {
		return badRequest("the reply is longer than %d MiB", maxReply>>20)
	}
	if a.finish == "error" { // OpenRouter's word for a provider that broke off
		a.finish = ""
		return &loop.ModelError{Class: loop.ModelOverloaded, Err: errCut}
	}
	return nil
}

// first returns the first value that is neither missing nor null.
func first(values ...json.RawMessage) json.RawMessage {
	for _, v := range values {
		if len(v) > 0 && !bytes.Equal(v, []byte("null")) {
			return v
		}
	}
	return nil
}

func (a *assembly) addText(s string) {
	if s == "" {
		return
	}
	a.size += len(s)
	a.text.WriteString(s)
	if a.onText != nil {
		a.onText(s)
	}
}

func (a *assembly) addCall(d callDelta) {
	call := a.find(d)
	if call == nil {
		call = &partialCall{index: d.Index, id: d.ID}
		a.calls = append(a.calls, call)
	}
	if call.name == "" {
		call.name = d.Function.Name
	}
	a.size += len(d.Function.Arguments)
	call.arguments.WriteString(string(d.Function.Arguments))
}

// find returns the call that a delta continues, nil if it begins one. The protocol says that the index tells, but
// there are servers that send none, or the same one for all calls, each with an id of its own.
func (a *assembly) find(d callDelta) *partialCall {
	for i := len(a.calls) - 1; i >= 0; i-- {
		call := a.calls[i]
		switch {
		case d.Index != nil && call.index != nil && *d.Index != *call.index:
			continue
		case d.ID != "" && d.ID != call.id && call.id != "":
			continue
		case d.ID == "" && d.Index == nil && d.Function.Name != "" && call.name != "":
			continue // neither id nor index: a name begins a call
		}
		if call.id == "" {
			call.id = d.ID
		}
		return call
	}
	return nil
}

// reply returns what was put together. A call without a name cannot be run nor sent back to the provider, so it is
// left out; a call without an id of its own gets one.
func (a *assembly) reply() loop.Reply {
	message := sessions.Message{Role: sessions.RoleAssistant, Text: a.text.String()}
	for _, call := range a.calls {
		if strings.TrimSpace(call.name) == "" {
			continue
		}
		id := call.id
		if id == "" || a.used[id] {
			id = "call_" + rand.Text()
		}
		a.used[id] = true
		message.ToolCalls = append(message.ToolCalls, sessions.ToolCall{
			ID: id, Name: call.name, Arguments: call.arguments.String(),
		})
	}
	return loop.Reply{Message: message, Usage: a.usage, Finish: a.reason(message)}
}

// reason believes the calls rather than the word: some servers say "stop" with calls, or "tool_calls" without.
func (a *assembly) reason(message sessions.Message) loop.Finish {
	switch {
	case a.finish == "length" || a.finish == "max_tokens":
		return loop.FinishLength
	case a.finish == "content_filter":
		return loop.FinishFiltered
	case len(message.ToolCalls) > 0:
		return loop.FinishTools
	}
	return loop.FinishStop
}
