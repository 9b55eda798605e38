package demo

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/loop"
)

// messages is the Messages protocol.
type messages struct{ s *Server }

func (messages) authorized(r *http.Request, key string) bool { return r.Header.Get("X-Api-Key") == key }

func (p messages) cached(req Request) (known, written int) { return p.s.marked.seen(req.blocks) }

func (p messages) voice(a *answering) voice { return newMessagesVoice(a, p.s.seal) }

// refusal words an error as Anthropic does, which goes by the status alone.
func (messages) refusal(r *Refusal) object {
	kind := map[int]string{
		http.StatusUnauthorized: "authentication_error", http.StatusPaymentRequired: "billing_error",
		http.StatusForbidden: "permission_error", http.StatusNotFound: "not_found_error",
		http.StatusRequestEntityTooLarge: "request_too_large", http.StatusTooManyRequests: "rate_limit_error",
		http.StatusGatewayTimeout: "timeout_error", 529: "overloaded_error",
	}[r.Status]
	switch {
	case kind != "":
	case r.Status >= 500:
		kind = "api_error"
	default:
		kind = "invalid_request_error"
	}
	text := r.Message
	if r.Code == codeTooLong {
		text = "prompt is too long: " + text
	}
	return object{"type": "error", "error": object{"type": kind, "message": text}, "request_id": "req_demo"}
}

// messagesRequest has the fields that the protocol documents and that make sense here.
type messagesRequest struct {
	Model        string            `json:"model"`
	MaxTokens    *int              `json:"max_tokens"`
	Messages     []messagesMessage `json:"messages"`
	System       blocks            `json:"system"`
	Tools        []messagesTool    `json:"tools"`
	ToolChoice   *messagesChoice   `json:"tool_choice"`
	Thinking     *messagesThinking `json:"thinking"`
	OutputConfig struct {
		Effort string `json:"effort"`
	} `json:"output_config"`
	Stream        bool            `json:"stream"`
	Temperature   *float64        `json:"temperature"`
	TopP          *float64        `json:"top_p"`
	TopK          *int            `json:"top_k"`
	StopSequences []string        `json:"stop_sequences"`
	Metadata      json.RawMessage `json:"metadata"`
}

type messagesMessage struct {
	Role    string `json:"role"`
	Content blocks `json:"content"`
}

type messagesTool struct {
	Type         string          `json:"type"`
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	Schema       json.RawMessage `json:"input_schema"`
	CacheControl *cacheControl   `json:"cache_control"`
}

type messagesChoice struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Disable *bool  `json:"disable_parallel_tool_use"`
}

type messagesThinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens"`
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

// block is a piece of content, with the fields of all kinds.
type block struct {
	Type         string          `json:"type"`
	Text         *string         `json:"text,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      blocks          `json:"content,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	Thinking     *string         `json:"thinking,omitempty"`
	Signature    string          `json:"signature,omitempty"`
	Data         string          `json:"data,omitempty"`
	Source       *imageSource    `json:"source,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type imageSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// blocks are the pieces of some content, which may be a mere string.
type blocks []block

// UnmarshalJSON implements json.Unmarshaler.
func (b *blocks) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*b = blocks{{Type: "text", Text: &s}}
		return nil
	}
	var list []block
	if err := strictly(raw, &list); err != nil {
		return err
	}
	*b = append(blocks{}, list...)
	return nil
}

// content returns the text of blocks.
func (b blocks) content() *Content {
	var c Content
	for _, one := range b {
		if one.Text != nil {
			c.Text += *one.Text
		}
	}
	return &c
}

func (p messages) parse(body []byte) (Request, error) {
	var in messagesRequest
	if err := strictly(body, &in); err != nil {
		return Request{}, err
	}
	if err := p.check(in); err != nil {
		return Request{}, err
	}
	req := Request{Model: in.Model, Stream: in.Stream, MaxTokens: in.MaxTokens, Body: body}
	for _, t := range in.Tools {
		tool := Tool{Type: "function"}
		tool.Function.Name, tool.Function.Description, tool.Function.Parameters = t.Name, t.Description, t.Schema
		req.Tools = append(req.Tools, tool)
		req.addBlock(t.CacheControl != nil, t.Name, t.Description, string(t.Schema))
	}
	if in.ToolChoice != nil {
		req.ToolChoice = in.ToolChoice.chat()
	}
	if in.System != nil {
		req.Messages = append(req.Messages, Message{Role: "system", Content: in.System.content()})
		req.addBlocks("system", in.System)
	}
	for i, m := range in.Messages {
		if err := p.read(m, &req); err != nil {
			return Request{}, badRequest("messages.%d: %v", i, err)
		}
		req.addBlocks(m.Role, m.Content)
	}
	return req, nil
}

// check refuses what is wrong with the request beside its messages.
func (p messages) check(in messagesRequest) error {
	marks := 0
	mark := func(all blocks) {
		for _, b := range all {
			if b.CacheControl != nil {
				marks++
			}
		}
	}
	mark(in.System)
	for _, t := range in.Tools {
		if t.CacheControl != nil {
			marks++
		}
		if len(t.Schema) == 0 {
			return badRequest("tools: input_schema: Field required")
		}
	}
	for i, m := range in.Messages {
		mark(m.Content)
		if i > 0 && m.Role == in.Messages[i-1].Role {
			return badRequest("messages: roles must alternate between \"user\" and \"assistant\", but found multiple %q roles in a row", m.Role)
		}
	}
	switch {
	case in.MaxTokens == nil:
		return badRequest("max_tokens: Field required")
	case *in.MaxTokens < 1:
		return badRequest("max_tokens: Input should be greater than or equal to 1")
	case marks > 4:
		return badRequest("A maximum of 4 blocks with cache_control may be provided. Found %d.", marks)
	case in.ToolChoice != nil && len(in.Tools) == 0:
		return badRequest("tool_choice may only be specified while providing tools")
	}
	return p.checkThinking(in)
}

// checkThinking refuses what is wrong with thinking as a whole.
func (p messages) checkThinking(in messagesRequest) error {
	how := p.s.reasoning(in.Model)
	switch {
	case in.OutputConfig.Effort != "" && how != loop.ReasoningAdaptive:
		return badRequest("This model does not support the effort parameter.")
	case !slices.Contains([]string{"", "low", "medium", "high", "xhigh", "max"}, in.OutputConfig.Effort):
		return badRequest("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
	case in.Thinking == nil:
		return nil
	case in.Thinking.Type == "adaptive" && how != loop.ReasoningAdaptive:
		return badRequest("adaptive thinking is not supported on this model")
	case in.Thinking.Type == "enabled" && how != loop.ReasoningBudget:
		return badRequest("\"thinking.type.enabled\" is not supported for this model.")
	case in.Thinking.Type != "enabled":
		return nil
	}
	switch {
	case in.Thinking.Budget < 1024:
		return badRequest("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case *in.MaxTokens <= in.Thinking.Budget:
		return badRequest("`max_tokens` must be greater than `thinking.budget_tokens`.")
	case in.ToolChoice != nil && in.ToolChoice.Type != "auto" && in.ToolChoice.Type != "none":
		return badRequest("Thinking may not be enabled when tool_choice forces tool use.")
	}
	n := len(in.Messages)
	if n < 2 || !slices.ContainsFunc(in.Messages[n-1].Content, func(b block) bool { return b.Type == "tool_result" }) {
		return nil
	}
	if first := in.Messages[n-2].Content; len(first) == 0 || first[0].Type != "thinking" && first[0].Type != "redacted_thinking" {
		return badRequest("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found another. When `thinking` is enabled, a final `assistant` message must start with a thinking block.", n-2)
	}
	return nil
}

func (c messagesChoice) chat() json.RawMessage {
	words := map[string]string{"auto": `"auto"`, "any": `"required"`, "none": `"none"`}
	if w := words[c.Type]; w != "" {
		return json.RawMessage(w)
	}
	worded, _ := json.Marshal(object{"type": "function", "function": object{"name": c.Name}}) // strings always can be
	return worded
}

// read appends a message to the request, as one or several of chat completions.
func (p messages) read(m messagesMessage, req *Request) error {
	if len(m.Content) == 0 {
		return badRequest("all messages must have non-empty content")
	}
	switch m.Role {
	case "user":
		return readUser(m.Content, req)
	case "assistant":
		return p.readAssistant(m.Content, req)
	}
	return badRequest("Unexpected role %q. Allowed roles are \"user\" or \"assistant\".", m.Role)
}

func readUser(content blocks, req *Request) error {
	var said Content
	for _, b := range content {
		if err := b.check(); err != nil {
			return err
		}
		switch {
		case b.Type == "text":
			said.Text += *b.Text
		case b.Type == "image" && b.Source != nil && b.Source.Type == "base64":
			if err := said.lookAt(b.Source.MediaType, b.Source.Data); err != nil {
				return err
			}
		case b.Type != "tool_result":
			return badRequest("%s blocks can not be in user messages", b.Type)
		case said.Text != "" || said.Images != nil:
			return badRequest("`tool_result` blocks must come first in a message")
		default:
			req.Messages = append(req.Messages, Message{Role: "tool", ToolCallID: b.ToolUseID, Content: b.Content.content()})
		}
	}
	if said.Text != "" || said.Images != nil {
		req.Messages = append(req.Messages, Message{Role: "user", Content: &said})
	}
	return nil
}

func (p messages) readAssistant(content blocks, req *Request) error {
	m := Message{Role: "assistant", Content: content.content()}
	for _, b := range content {
		if err := b.check(); err != nil {
			return err
		}
		switch b.Type {
		case "text":
		case "tool_use":
			arguments := string(b.Input)
			call := ToolCall{ID: b.ID, Type: "function"}
			call.Function.Name, call.Function.Arguments = b.Name, &arguments
			m.ToolCalls = append(m.ToolCalls, call)
		case "thinking":
			if b.Thinking == nil || b.Signature != p.s.seal(*b.Thinking) {
				return badRequest("Invalid `signature` in `thinking` block")
			}
		case "redacted_thinking":
			if plain, signature, ok := strings.Cut(b.Data, "."); !ok || signature != p.s.seal(plain) {
				return badRequest("Invalid `data` in `redacted_thinking` block")
			}
		default:
			return badRequest("%s blocks can not be in assistant messages", b.Type)
		}
	}
	if last := content[len(content)-1].Type; last == "thinking" || last == "redacted_thinking" {
		return badRequest("The final block in an assistant message cannot be `thinking`.")
	}
	req.Messages = append(req.Messages, m)
	return nil
}

// check refuses a block that is wrong by itself.
func (b block) check() error {
	switch {
	case b.Type == "text" && (b.Text == nil || *b.Text == ""):
		return badRequest("text content blocks must be non-empty")
	case b.Type == "text" && strings.TrimSpace(*b.Text) == "":
		return badRequest("text content blocks must contain non-whitespace text")
	case b.CacheControl != nil && b.CacheControl.Type != "ephemeral":
		return badRequest("cache_control: Input tag does not match 'ephemeral'")
	case b.CacheControl != nil && strings.HasSuffix(b.Type, "thinking"):
		return badRequest("cache_control cannot be set for thinking blocks")
	case b.Type == "tool_use" && !bytes.HasPrefix(bytes.TrimSpace(b.Input), []byte("{")):
		return badRequest("tool_use.input: Input should be a valid dictionary")
	}
	return nil
}
