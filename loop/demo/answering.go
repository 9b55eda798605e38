package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// answering sends one response.
type answering struct {
	w      http.ResponseWriter
	ctx    context.Context
	req    Request
	cached int           // bytes of the request that the cache knew
	delay  time.Duration // between pieces

	id      string
	written int // bytes of the reply
}

// object is a JSON object on its way out.
type object = map[string]any

// send sends a response. It returns early if the client goes away.
func (a *answering) send(resp Response) {
	for name, values := range resp.Header {
		a.w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	if resp.Pause > 0 {
		a.delay = resp.Pause
	}
	if !a.rest(resp.Wait) {
		return
	}
	a.id = "chatcmpl-" + rand.Text()
	for i := range resp.Calls {
		if resp.Calls[i].ID == "" {
			resp.Calls[i].ID = "call_" + rand.Text()
		}
	}
	switch {
	case resp.Refusal != nil:
		resp.Refusal.write(a.w)
	case a.req.Stream || resp.Raw != "":
		a.stream(resp)
	default:
		a.whole(resp)
	}
}

// rest waits; false if the client went away.
func (a *answering) rest(d time.Duration) bool {
	if d <= 0 {
		return a.ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-a.ctx.Done():
		return false
	}
}

// whole answers without streaming.
func (a *answering) whole(resp Response) {
	message := object{"role": "assistant", "content": nil}
	text := strings.Join(resp.pieces(), "")
	if text != "" || len(resp.Calls) == 0 {
		message["content"] = text
	}
	a.written = len(text)
	var calls []object
	for _, c := range resp.Calls {
		calls = append(calls, object{
			"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments},
		})
		a.written += len(c.Name) + len(c.Arguments)
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	if resp.Hang {
		<-a.ctx.Done()
		return
	}
	if resp.Cut {
		panic(http.ErrAbortHandler) // net/http's way to break a connection
	}
	a.w.Header().Set("Content-Type", "application/json")
	body := a.envelope("chat.completion", object{"index": 0, "message": message, "finish_reason": resp.finish()})
	body["usage"] = a.usage(resp)
	json.NewEncoder(a.w).Encode(body)
}

// stream answers piece by piece.
func (a *answering) stream(resp Response) {
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.w.Header().Set("Cache-Control", "no-cache")
	if resp.Raw != "" {
		a.write(resp.Raw)
	} else if !a.deltas(resp) {
		return
	}
	switch {
	case resp.Hang:
		<-a.ctx.Done()
	case resp.Cut:
		panic(http.ErrAbortHandler)
	case resp.Raw != "":
	default:
		a.chunk(object{}, resp.finish())
		if a.req.StreamOptions != nil && a.req.StreamOptions.IncludeUsage {
			last := a.envelope("chat.completion.chunk")
			last["usage"] = a.usage(resp)
			a.event(last)
		}
		a.write("data: [DONE]\n\n")
	}
}

// deltas streams reasoning, text and calls; false if the client went away.
func (a *answering) deltas(resp Response) bool {
	a.chunk(object{"role": "assistant", "content": ""}, nil)
	for _, piece := range words(resp.Reasoning) {
		a.chunk(object{"reasoning_content": piece}, nil)
		if !a.rest(a.delay) {
			return false
		}
	}
	for _, piece := range resp.pieces() {
		a.written += len(piece)
		a.chunk(object{"content": piece}, nil)
		if !a.rest(a.delay) {
			return false
		}
	}
	for i, c := range resp.Calls {
		a.call(i, c)
	}
	return a.ctx.Err() == nil
}

// call streams a tool call as providers do: id and name first, then the arguments in pieces.
func (a *answering) call(index int, c Call) {
	delta := func(fields object) {
		fields["index"] = index
		a.chunk(object{"tool_calls": []object{fields}}, nil)
	}
	delta(object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}})
	for _, piece := range words(c.Arguments) {
		delta(object{"function": object{"arguments": piece}})
	}
	a.written += len(c.Name) + len(c.Arguments)
}

func (a *answering) chunk(delta object, finish any) {
	body := a.envelope("chat.completion.chunk", object{"index": 0, "delta": delta, "finish_reason": finish})
	body["usage"] = nil
	a.event(body)
}

func (a *answering) envelope(kind string, choices ...object) object {
	return object{
		"id": a.id, "object": kind, "created": time.Now().Unix(), "model": a.req.Model,
		"choices": append([]object{}, choices...),
	}
}

func (a *answering) usage(resp Response) object {
	u := Usage{Input: a.req.Tokens(), Output: tokens(a.written + len(resp.Reasoning)), Cached: a.cached / 4}
	if resp.Usage != nil {
		u = *resp.Usage
	}
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details": object{"cached_tokens": u.Cached},
	}
}

func (a *answering) event(body object) {
	raw, err := json.Marshal(body)
	if err != nil {
		return // not for texts and numbers
	}
	a.write(fmt.Sprintf("data: %s\n\n", raw))
}

// write sends bytes at once. Errors show when the context ends.
func (a *answering) write(s string) {
	io.WriteString(a.w, s)
	if f, ok := a.w.(http.Flusher); ok {
		f.Flush()
	}
}
