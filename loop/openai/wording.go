package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync/atomic"

	chat "github.com/sashabaranov/go-openai"

	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/sessions"
)

// wording sends requests with the messages and the tools in them. go-openai's messages have no place for reasoning that
// goes back, and both take it several times as long to encode, which counts, as each request has all of them in it.
type wording struct {
	x        *provider.Exchange
	c        provider.Conversation
	declared *declared
}

// noMessages is how go-openai encodes a request without messages.
var noMessages = []byte(`"messages":null`)

// Do implements chat.HTTPDoer.
func (w wording) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, provider.BadRequest("read the request: %w", err)
	}
	tools, err := w.declared.word(w.c.Tools)
	if err != nil {
		return nil, provider.BadRequest("word the tools: %w", err)
	}
	messages, err := json.Marshal(wireMessages(w.c))
	if err != nil {
		return nil, provider.BadRequest("word the messages: %w", err)
	}
	before, after, _ := bytes.Cut(body, noMessages)
	body = slices.Concat(before, tools, []byte(`"messages":`), messages, after)
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return w.x.Do(req)
}

// declared remembers how the tools of the last request were worded: those of the next one are the same, as a rule.
type declared struct{ last atomic.Pointer[wordedTools] }

type wordedTools struct {
	tools []provider.Tool
	words []byte
}

// word returns tools as they stand in a request, a comma behind them; nothing if there are none.
func (d *declared) word(tools []provider.Tool) ([]byte, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	if last := d.last.Load(); last != nil && &last.tools[0] == &tools[0] { // they are shared and never changed
		return last.words, nil
	}
	words, err := json.Marshal(chatTools(tools))
	if err != nil {
		return nil, err
	}
	words = slices.Concat([]byte(`"tools":`), words, []byte(","))
	d.last.Store(&wordedTools{tools, words})
	return words, nil
}

// wireMessage is a message of a chat completion. No content and no arguments are empty here, but for an assistant's:
// providers refuse a result without the one and a call without the other.
type wireMessage struct {
	Role       string          `json:"role"`
	Content    any             `json:"content,omitempty"` // a text, or parts
	ToolCalls  []chat.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	replayed
}

// chatTool is a tool that can be called.
type chatTool struct {
	Type     chat.ToolType `json:"type"`
	Function chatFunction  `json:"function"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

func chatTools(tools []provider.Tool) (out []chatTool) {
	for _, t := range tools {
		out = append(out, chatTool{chat.ToolTypeFunction, chatFunction{t.Name, t.Description, t.Schema}})
	}
	return out
}

// replayed is reasoning that goes back as it came.
type replayed struct {
	Content json.RawMessage `json:"reasoning_content,omitempty"`
	Details json.RawMessage `json:"reasoning_details,omitempty"`
}

func wireMessages(c provider.Conversation) []wireMessage {
	noted := c.Noted()
	out := make([]wireMessage, 0, len(noted)+1)
	if c.System != "" {
		out = append(out, wireMessage{Role: chat.ChatMessageRoleSystem, Content: c.System})
	}
	var calls []chat.ToolCall // of all messages, so that they need few allocations
	for i := range noted {
		m := &noted[i]
		wire := wireMessage{Role: string(m.Role), ToolCallID: m.ToolCallID, replayed: replay(*m)}
		if m.Text != "" {
			wire.Content = &m.Text
		}
		if images := c.ImagesAt(i); len(images) > 0 {
			wire.Content = chatParts(images, m.Text)
		}
		first := len(calls)
		for _, call := range m.ToolCalls {
			calls = append(calls, chat.ToolCall{
				ID: call.ID, Type: chat.ToolTypeFunction, Function: chat.FunctionCall{Name: call.Name, Arguments: call.Arguments},
			})
		}
		wire.ToolCalls = calls[first:len(calls):len(calls)]
		out = append(out, wire)
	}
	return out
}

func chatParts(images []provider.Image, text string) (parts []chat.ChatMessagePart) {
	for _, i := range images {
		parts = append(parts, chat.ChatMessagePart{
			Type: chat.ChatMessagePartTypeImageURL, ImageURL: &chat.ChatMessageImageURL{URL: i.URL()},
		})
	}
	return append(parts, chat.ChatMessagePart{Type: chat.ChatMessagePartTypeText, Text: text})
}

// replay returns the reasoning that was kept of a message; see reasoning.keep.
func replay(m sessions.Message) (r replayed) {
	for _, o := range m.Reasoning {
		if json.Unmarshal(o.Data, &r) != nil {
			return replayed{} // nothing that this mode has kept
		}
	}
	return r
}
