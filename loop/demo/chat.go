package demo

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/loop"
)

// chat is the chat completions protocol.
type chat struct{ s *Server }

func (chat) authorized(r *http.Request, key string) bool { return bearer(r, key) }

func (p chat) parse(body []byte) (Request, error) {
	req, err := Parse(body)
	if err != nil {
		return req, err
	}
	if req.MaxTokens != nil && p.s.reasoning(req.Model) == loop.ReasoningEffort {
		return req, refusal(http.StatusBadRequest, "unsupported_parameter",
			"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	if err := p.s.checkEffort(req.Model, "reasoning_effort", req.ReasoningEffort); err != nil {
		return req, err
	}
	return req, p.checkReasoning(req)
}

func (p chat) cached(req Request) (known, written int) { return p.s.cache.seen(req.prefix()), 0 }

func (chat) refusal(r *Refusal) object { return r.openAI() }

func (p chat) voice(a *answering) voice {
	return &chatVoice{answering: a, style: p.s.options.Reasoning, seal: p.s.seal, id: "chatcmpl-" + rand.Text()}
}

// ReasoningStyle says how a chat endpoint speaks of reasoning. The protocol has no word for it, so each has its own.
type ReasoningStyle string

const (
	// ReasoningShown: a text for people, refused if it comes back. The default.
	ReasoningShown ReasoningStyle = ""
	// ReasoningWanted: a text that must come back with each call that was made after it, as at DeepSeek.
	ReasoningWanted ReasoningStyle = "content"
	// ReasoningSigned: details, signed, which must not come back changed, as at OpenRouter.
	ReasoningSigned ReasoningStyle = "details"
)

// detail is a piece of reasoning at OpenRouter.
type detail struct {
	Type      string `json:"type"`
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Index     int    `json:"index"`
}

// checkReasoning checks the reasoning that comes back.
func (p chat) checkReasoning(req Request) error {
	for i, m := range req.Messages {
		switch {
		case m.ReasoningContent != nil && p.s.options.Reasoning != ReasoningWanted:
			return badRequest("messages[%d]: reasoning_content is not taken back", i)
		case m.ReasoningContent == nil && len(m.ToolCalls) > 0 && p.s.options.Reasoning == ReasoningWanted:
			return badRequest("messages[%d]: Missing reasoning_content in the assistant message", i)
		case len(m.ReasoningDetails) > 0 && p.s.options.Reasoning != ReasoningSigned:
			return badRequest("messages[%d]: unknown field reasoning_details", i)
		}
		for _, raw := range m.ReasoningDetails {
			var d detail
			if json.Unmarshal(raw, &d) != nil || d.Type != "reasoning.text" || d.Signature != p.s.seal(d.Text) {
				return badRequest("messages[%d]: invalid signature in reasoning_details", i)
			}
		}
	}
	return nil
}

// chatVoice words an answer as chat completions.
type chatVoice struct {
	*answering
	style ReasoningStyle
	seal  func(string) string
	id    string
	calls int
}

func (v *chatVoice) begin(Usage) { v.chunk(object{"role": "assistant", "content": ""}, nil) }
func (v *chatVoice) alive()      { v.write(": keep-alive\n\n") }

func (v *chatVoice) reason(pieces []string) bool {
	if v.style != ReasoningSigned {
		return v.each(pieces, func(p string) { v.chunk(object{"reasoning_content": p}, nil) })
	}
	details := func(d detail) { v.chunk(object{"reasoning_details": []detail{d}}, nil) }
	ok := v.each(pieces, func(p string) { details(detail{Type: "reasoning.text", Text: p}) })
	details(detail{Type: "reasoning.text", Signature: v.seal(strings.Join(pieces, ""))})
	return ok
}

func (v *chatVoice) say(pieces []string) bool {
	return v.each(pieces, func(p string) { v.chunk(object{"content": p}, nil) })
}

// call streams a tool call as providers do: id and name first, then the arguments in pieces.
func (v *chatVoice) call(c Call) {
	delta := func(fields object) {
		fields["index"] = v.calls
		v.chunk(object{"tool_calls": []object{fields}}, nil)
	}
	delta(object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}})
	for _, piece := range words(c.Arguments) {
		delta(object{"function": object{"arguments": piece}})
	}
	v.calls++
}

func (v *chatVoice) end(finish string, u Usage) {
	v.chunk(object{}, finish)
	if v.req.StreamOptions != nil && v.req.StreamOptions.IncludeUsage {
		last := v.envelope("chat.completion.chunk")
		last["usage"] = chatUsage(u)
		v.event("", last)
	}
	v.write("data: [DONE]\n\n")
}

func (v *chatVoice) fail(r *Refusal) { v.event("", r.openAI()) }

func (v *chatVoice) whole(resp Response, u Usage) object {
	message := object{"role": "assistant", "content": nil}
	text := strings.Join(resp.pieces(), "")
	if text != "" || len(resp.Calls) == 0 {
		message["content"] = text
	}
	var calls []object
	for _, c := range resp.Calls {
		calls = append(calls, object{
			"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments},
		})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	body := v.envelope("chat.completion", object{"index": 0, "message": message, "finish_reason": resp.finish()})
	body["usage"] = chatUsage(u)
	return body
}

func (v *chatVoice) chunk(delta object, finish any) {
	body := v.envelope("chat.completion.chunk", object{"index": 0, "delta": delta, "finish_reason": finish})
	body["usage"] = nil
	v.event("", body)
}

func (v *chatVoice) envelope(kind string, choices ...object) object {
	return object{
		"id": v.id, "object": kind, "created": time.Now().Unix(), "model": v.req.Model,
		"choices": append([]object{}, choices...),
	}
}

func chatUsage(u Usage) object {
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.Cached},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}
