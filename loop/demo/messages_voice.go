package demo

import (
	"crypto/rand"
	"encoding/json"
	"strings"
)

// messagesVoice words an answer as the Messages API does.
type messagesVoice struct {
	*answering
	seal   func(string) string
	id     string
	thinks bool // the request asks for thinking
	next   int  // index of the next block
}

func newMessagesVoice(a *answering, seal func(string) string) *messagesVoice {
	var in struct {
		Thinking messagesThinking `json:"thinking"`
	}
	thinks := json.Unmarshal(a.req.Body, &in) == nil && (in.Thinking.Type == "enabled" || in.Thinking.Type == "adaptive")
	return &messagesVoice{answering: a, seal: seal, id: "msg_" + rand.Text(), thinks: thinks}
}

// emit writes an event.
func (v *messagesVoice) emit(kind string, fields object) {
	fields["type"] = kind
	v.event(kind, fields)
}

func (v *messagesVoice) message(content []object, stop any, usage object) object {
	return object{
		"id": v.id, "type": "message", "role": "assistant", "model": v.req.Model, "content": append([]object{}, content...),
		"stop_reason": stop, "stop_sequence": nil, "usage": usage,
	}
}

func (v *messagesVoice) begin(u Usage) {
	u.Output = 1 // so far
	v.emit("message_start", object{"message": v.message(nil, nil, v.usage(u))})
}

// usage words a usage: the input is what the cache neither knew nor took in.
func (v *messagesVoice) usage(u Usage) object {
	created := min(v.created/4, u.Input-u.Cached)
	return object{
		"input_tokens": u.Input - u.Cached - created, "cache_creation_input_tokens": created,
		"cache_read_input_tokens": u.Cached, "output_tokens": u.Output,
	}
}

func (v *messagesVoice) alive() { v.emit("ping", object{}) }

// block writes a block: its beginning, its deltas, its end.
func (v *messagesVoice) block(begun object, tell func(delta func(object)) bool) bool {
	index := v.next
	v.next++
	v.emit("content_block_start", object{"index": index, "content_block": begun})
	ok := tell(func(d object) { v.emit("content_block_delta", object{"index": index, "delta": d}) })
	v.emit("content_block_stop", object{"index": index})
	return ok
}

// reason thinks, if it was asked to.
func (v *messagesVoice) reason(pieces []string) bool {
	if !v.thinks {
		return true
	}
	return v.block(object{"type": "thinking", "thinking": "", "signature": ""}, func(delta func(object)) bool {
		ok := v.each(pieces, func(p string) { delta(object{"type": "thinking_delta", "thinking": p}) })
		delta(object{"type": "signature_delta", "signature": v.seal(strings.Join(pieces, ""))})
		return ok
	})
}

func (v *messagesVoice) say(pieces []string) bool {
	return v.block(object{"type": "text", "text": ""}, func(delta func(object)) bool {
		return v.each(pieces, func(p string) { delta(object{"type": "text_delta", "text": p}) })
	})
}

func (v *messagesVoice) call(c Call) {
	begun := object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}
	v.block(begun, func(delta func(object)) bool {
		delta(object{"type": "input_json_delta", "partial_json": ""})
		for _, piece := range words(c.Arguments) {
			delta(object{"type": "input_json_delta", "partial_json": piece})
		}
		return true
	})
}

// stopReason words a finish reason; one that chat completions have no word for stays as it is.
func stopReason(finish string) string {
	words := map[string]string{"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
	if w := words[finish]; w != "" {
		return w
	}
	return finish
}

func (v *messagesVoice) end(finish string, u Usage) {
	v.emit("message_delta", object{
		"delta": object{"stop_reason": stopReason(finish), "stop_sequence": nil}, "usage": v.usage(u),
	})
	v.emit("message_stop", object{})
}

func (v *messagesVoice) fail(r *Refusal) { v.event("error", messages{}.refusal(r)) }

func (v *messagesVoice) whole(resp Response, u Usage) object {
	var content []object
	if v.thinks && resp.Reasoning != "" {
		content = append(content, object{"type": "thinking", "thinking": resp.Reasoning, "signature": v.seal(resp.Reasoning)})
	}
	if text := strings.Join(resp.pieces(), ""); text != "" {
		content = append(content, object{"type": "text", "text": text})
	}
	for _, c := range resp.Calls {
		content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Arguments)})
	}
	return v.message(content, stopReason(resp.finish()), v.usage(u))
}
