package demo

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// responsesVoice words an answer as the Responses API does: each item is announced, told in pieces and told whole, and
// the last event repeats everything.
type responsesVoice struct {
	*answering
	seal      func(string) string
	encrypted bool // the request wants its reasoning to be portable
	id        string
	sequence  int
	output    []object // the items that are complete
}

func newResponsesVoice(a *answering, seal func(string) string) *responsesVoice {
	var in struct {
		Include []string `json:"include"`
	}
	wants := json.Unmarshal(a.req.Body, &in) == nil && slices.Contains(in.Include, encryptedReasoning)
	return &responsesVoice{answering: a, seal: seal, encrypted: wants, id: "resp_" + rand.Text(), output: []object{}}
}

// emit writes an event.
func (v *responsesVoice) emit(kind string, fields object) {
	fields["type"], fields["sequence_number"] = kind, v.sequence
	v.sequence++
	v.event(kind, fields)
}

// response is the whole response as it stands.
func (v *responsesVoice) response(status string) object {
	return object{
		"id": v.id, "object": "response", "created_at": time.Now().Unix(), "status": status, "model": v.req.Model,
		"output": v.output, "error": nil, "incomplete_details": nil, "usage": nil, "parallel_tool_calls": true, "store": false,
	}
}

func (v *responsesVoice) begin(Usage) {
	v.emit("response.created", object{"response": v.response("in_progress")})
	v.emit("response.in_progress", object{"response": v.response("in_progress")})
}

func (v *responsesVoice) alive() { v.emit("keepalive", object{}) }

// item announces an item, tells it, and tells it whole.
func (v *responsesVoice) item(begun, whole object, tell func(at object)) {
	index := len(v.output)
	at := func() object { return object{"item_id": whole["id"], "output_index": index} }
	v.emit("response.output_item.added", object{"output_index": index, "item": begun})
	tell(at())
	v.emit("response.output_item.done", object{"output_index": index, "item": whole})
	v.output = append(v.output, whole)
}

// with returns an object with more fields.
func with(o object, more object) object {
	out := object{}
	for _, fields := range []object{o, more} {
		for name, value := range fields {
			out[name] = value
		}
	}
	return out
}

func (v *responsesVoice) reasoning(text string) object {
	item := object{
		"id": "rs_" + rand.Text(), "type": "reasoning", "status": nil,
		"summary": []object{{"type": "summary_text", "text": text}},
	}
	if v.encrypted {
		hidden := base64.StdEncoding.EncodeToString([]byte(text))
		item["encrypted_content"] = hidden + "." + v.seal(hidden)
	}
	return item
}

func (v *responsesVoice) reason(pieces []string) (ok bool) {
	whole := v.reasoning(strings.Join(pieces, ""))
	begun := object{"id": whole["id"], "type": "reasoning", "summary": []object{}}
	v.item(begun, whole, func(at object) {
		at["summary_index"] = 0
		v.emit("response.reasoning_summary_part.added", with(at, object{"part": object{"type": "summary_text", "text": ""}}))
		ok = v.each(pieces, func(p string) {
			v.emit("response.reasoning_summary_text.delta", with(at, object{"delta": p}))
		})
		v.emit("response.reasoning_summary_text.done", with(at, object{"text": strings.Join(pieces, "")}))
	})
	return ok
}

func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []object{}, "logprobs": []object{}}
}

func message(id, status string, content ...object) object {
	return object{"id": id, "type": "message", "role": "assistant", "status": status, "content": append([]object{}, content...)}
}

func (v *responsesVoice) say(pieces []string) (ok bool) {
	id, text := "msg_"+rand.Text(), strings.Join(pieces, "")
	v.item(message(id, "in_progress"), message(id, "completed", outputText(text)), func(at object) {
		at["content_index"] = 0
		v.emit("response.content_part.added", with(at, object{"part": outputText("")}))
		ok = v.each(pieces, func(p string) {
			v.emit("response.output_text.delta", with(at, object{"delta": p, "logprobs": []object{}}))
		})
		v.emit("response.output_text.done", with(at, object{"text": text, "logprobs": []object{}}))
		v.emit("response.content_part.done", with(at, object{"part": outputText(text)}))
	})
	return ok
}

func functionCall(id, status string, c Call) object {
	return object{
		"id": id, "type": "function_call", "status": status, "call_id": c.ID, "name": c.Name, "arguments": c.Arguments,
	}
}

func (v *responsesVoice) call(c Call) {
	id := "fc_" + rand.Text()
	begun := functionCall(id, "in_progress", Call{ID: c.ID, Name: c.Name})
	v.item(begun, functionCall(id, "completed", c), func(at object) {
		for _, piece := range words(c.Arguments) {
			v.emit("response.function_call_arguments.delta", with(at, object{"delta": piece}))
		}
		v.emit("response.function_call_arguments.done", with(at, object{"arguments": c.Arguments}))
	})
}

func (v *responsesVoice) end(finish string, u Usage) {
	last := v.finished(finish, u)
	v.emit("response."+last["status"].(string), object{"response": last})
}

// finished is the response at its end.
func (v *responsesVoice) finished(finish string, u Usage) object {
	reason := map[string]string{"length": "max_output_tokens", "content_filter": "content_filter"}[finish]
	last := v.response("completed")
	if reason != "" {
		last["status"], last["incomplete_details"] = "incomplete", object{"reason": reason}
	}
	last["usage"] = object{
		"input_tokens": u.Input, "input_tokens_details": object{"cached_tokens": u.Cached},
		"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": u.Reasoning},
		"total_tokens": u.Input + u.Output,
	}
	return last
}

func (v *responsesVoice) fail(r *Refusal) {
	code := r.Code
	if code == "" {
		code = map[int]string{429: "rate_limit_exceeded"}[r.Status]
	}
	if code == "" {
		code = "server_error"
	}
	last := v.response("failed")
	last["error"] = object{"code": code, "message": r.Message}
	v.emit("response.failed", object{"response": last})
}

func (v *responsesVoice) whole(resp Response, u Usage) object {
	if resp.Reasoning != "" {
		v.output = append(v.output, v.reasoning(resp.Reasoning))
	}
	if text := strings.Join(resp.pieces(), ""); text != "" {
		v.output = append(v.output, message("msg_"+rand.Text(), "completed", outputText(text)))
	}
	for _, c := range resp.Calls {
		v.output = append(v.output, functionCall("fc_"+rand.Text(), "completed", c))
	}
	return v.finished(resp.finish(), u)
}
