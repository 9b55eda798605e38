package demo

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/loop"
)

// responses is the Responses protocol. It stores nothing, so a request must hold the whole conversation.
type responses struct{ s *Server }

func (responses) authorized(r *http.Request, key string) bool { return bearer(r, key) }

func (p responses) cached(req Request) (known, written int) { return p.s.cache.seen(req.prefix()), 0 }

func (responses) refusal(r *Refusal) object { return r.openAI() }

func (p responses) voice(a *answering) voice { return newResponsesVoice(a, p.s.seal) }

// responsesRequest has the fields that the protocol documents and that make sense here.
type responsesRequest struct {
	Model             string          `json:"model"`
	Input             json.RawMessage `json:"input"`
	Instructions      string          `json:"instructions"`
	Tools             []responsesTool `json:"tools"`
	ToolChoice        json.RawMessage `json:"tool_choice"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls"`
	Store             *bool           `json:"store"`
	Include           []string        `json:"include"`
	Stream            bool            `json:"stream"`
	MaxOutputTokens   *int            `json:"max_output_tokens"`
	Reasoning         struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
	} `json:"reasoning"`
	Text               json.RawMessage   `json:"text"`
	Temperature        *float64          `json:"temperature"`
	TopP               *float64          `json:"top_p"`
	Truncation         string            `json:"truncation"`
	Metadata           map[string]string `json:"metadata"`
	User               string            `json:"user"`
	PromptCacheKey     string            `json:"prompt_cache_key"`
	PreviousResponseID *string           `json:"previous_response_id"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

// responsesItem is an item of the input, with the fields of all kinds.
type responsesItem struct {
	Type      string          `json:"type"` // may be missing in a message
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments *string         `json:"arguments"`
	Output    *Content        `json:"output"`
	Summary   json.RawMessage `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
}

const encryptedReasoning = "reasoning.encrypted_content"

func (p responses) parse(body []byte) (Request, error) {
	var in responsesRequest
	if err := strictly(body, &in); err != nil {
		return Request{}, err
	}
	switch {
	case in.PreviousResponseID != nil:
		return Request{}, refusal(http.StatusBadRequest, "previous_response_not_found", "Previous response with id '"+*in.PreviousResponseID+"' not found.")
	case in.MaxOutputTokens != nil && *in.MaxOutputTokens < 16:
		return Request{}, refusal(http.StatusBadRequest, "integer_below_min_value", "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.")
	case slices.Contains(in.Include, encryptedReasoning) && p.s.reasoning(in.Model) != loop.ReasoningEffort:
		return Request{}, badRequest("Encrypted content is not supported with this model.")
	}
	if err := p.s.checkEffort(in.Model, "reasoning.effort", in.Reasoning.Effort); err != nil {
		return Request{}, err
	}
	req := Request{
		Model: in.Model, Stream: in.Stream, ToolChoice: in.ToolChoice, MaxTokens: in.MaxOutputTokens,
		ParallelToolCalls: in.ParallelToolCalls, Body: body,
	}
	for _, t := range in.Tools {
		tool := Tool{Type: t.Type}
		tool.Function.Name, tool.Function.Description, tool.Function.Parameters = t.Name, t.Description, t.Parameters
		req.Tools = append(req.Tools, tool)
	}
	if len(in.ToolChoice) > 0 {
		req.ToolChoice = chatChoice(in.ToolChoice)
	}
	var raw struct {
		Instructions json.RawMessage `json:"instructions"`
		Tools        json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return Request{}, badRequest("%v", err)
	}
	req.tools = raw.Tools
	if in.Instructions != "" {
		req.Messages = append(req.Messages, text("system", in.Instructions))
		req.messages = append(req.messages, raw.Instructions)
	}
	return req, p.readInput(in.Input, &req)
}

// chatChoice words a choice of tools as chat completions do.
func chatChoice(raw json.RawMessage) json.RawMessage {
	var choice struct{ Type, Name string }
	if json.Unmarshal(raw, &choice) != nil || choice.Type != "function" {
		return raw
	}
	worded, _ := json.Marshal(object{"type": "function", "function": object{"name": choice.Name}}) // strings always can be
	return worded
}

func text(role, content string) Message {
	return Message{Role: role, Content: &Content{Text: content}}
}

// readInput reads the items and appends them to the request as messages.
func (p responses) readInput(input json.RawMessage, req *Request) error {
	var alone string
	if json.Unmarshal(input, &alone) == nil {
		req.Messages, req.messages = append(req.Messages, text("user", alone)), append(req.messages, input)
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(input, &items) != nil {
		return badRequest("Invalid type for 'input': expected one of a list of items or a string.")
	}
	r := inputReader{p: p, req: req}
	for i, raw := range items {
		var item responsesItem
		if err := strictly(raw, &item); err != nil {
			return badRequest("input[%d]: %v", i, err)
		}
		if err := r.read(item); err != nil {
			return err
		}
		req.messages = append(req.messages, raw)
	}
	return r.followed()
}

// inputReader reads items one after the other. What the assistant says in several items is one message.
type inputReader struct {
	p         responses
	req       *Request
	assistant *Message // that can still go on, nil = none
	reasoning string   // the id of a reasoning item that needs something to follow it
}

// followed refuses reasoning that led to nothing.
func (r *inputReader) followed() error {
	if r.reasoning != "" {
		return badRequest("Item '%s' of type 'reasoning' was provided without its required following item.", r.reasoning)
	}
	return nil
}

func (r *inputReader) read(item responsesItem) error {
	kind := item.Type
	if kind == "" && item.Role != "" {
		kind = "message"
	}
	if kind == "message" && item.Role == "assistant" {
		kind = "answer"
	}
	switch kind {
	case "answer", "function_call", "reasoning":
		if r.assistant == nil {
			r.assistant = &Message{Role: "assistant"}
		} else {
			r.req.Messages = r.req.Messages[:len(r.req.Messages)-1]
		}
		err := r.say(kind, item)
		r.req.Messages = append(r.req.Messages, *r.assistant)
		return err
	}
	if err := r.followed(); err != nil {
		return err
	}
	r.assistant = nil
	switch kind {
	case "message":
		content, err := readParts(item)
		if err != nil {
			return err
		}
		r.req.Messages = append(r.req.Messages, Message{Role: item.Role, Content: &content})
	case "function_call_output":
		r.req.Messages = append(r.req.Messages, Message{Role: "tool", ToolCallID: item.CallID, Content: item.Output})
	default:
		return refusal(http.StatusBadRequest, "invalid_value", "Invalid value: '"+item.Type+
			"'. Supported values are: 'message', 'reasoning', 'function_call' and 'function_call_output'.")
	}
	return nil
}

// say adds an item to what the assistant said.
func (r *inputReader) say(kind string, item responsesItem) error {
	if kind == "reasoning" {
		r.reasoning = item.ID
		return r.p.checkReasoning(item)
	}
	r.reasoning = ""
	if kind == "function_call" {
		call := ToolCall{ID: item.CallID, Type: "function"}
		call.Function.Name, call.Function.Arguments = item.Name, item.Arguments
		r.assistant.ToolCalls = append(r.assistant.ToolCalls, call)
		return nil
	}
	content, err := readParts(item)
	if r.assistant.Content == nil {
		r.assistant.Content = &Content{}
	}
	r.assistant.Content.add(content)
	return err
}

// readParts reads the content of a message.
func readParts(item responsesItem) (c Content, err error) {
	if json.Unmarshal(item.Content, &c.Text) == nil {
		return c, nil
	}
	var parts []struct {
		Type        string            `json:"type"`
		Text        string            `json:"text"`
		ImageURL    string            `json:"image_url"`
		Detail      string            `json:"detail"`
		Annotations []json.RawMessage `json:"annotations"`
		Logprobs    []json.RawMessage `json:"logprobs"`
	}
	if err := strictly(item.Content, &parts); err != nil {
		return c, err
	}
	want := "input_text"
	if item.Role == "assistant" {
		want = "output_text"
	}
	for _, part := range parts {
		if part.Type == "input_image" && item.Role == "user" {
			if err := c.look(part.ImageURL); err != nil {
				return c, err
			}
			continue
		}
		if part.Type != want {
			return c, badRequest("Invalid value: '%s'. Supported values are: '%s'.", part.Type, want)
		}
		c.Text += part.Text
	}
	return c, nil
}

// checkReasoning checks reasoning that comes back.
func (p responses) checkReasoning(item responsesItem) error {
	if item.Summary == nil {
		return refusal(http.StatusBadRequest, "missing_required_parameter", "Missing required parameter: 'summary'.")
	}
	if item.Encrypted == "" {
		return refusal(http.StatusNotFound, "", "Item with id '"+item.ID+"' not found. Items are not persisted when `store` is set to false.")
	}
	if plain, signature, ok := strings.Cut(item.Encrypted, "."); !ok || signature != p.s.seal(plain) {
		return refusal(http.StatusBadRequest, "invalid_encrypted_content", "The encrypted content for item "+item.ID+" could not be verified.")
	}
	return nil
}
