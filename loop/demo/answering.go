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
	w        http.ResponseWriter
	ctx      context.Context
	protocol protocol
	req      Request
	known    int           // bytes of the request that the cache knew
	created  int           // and that it took in
	delay    time.Duration // between pieces

	voice voice
}

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
	for i := range resp.Calls {
		if resp.Calls[i].ID == "" {
			resp.Calls[i].ID = "call_" + rand.Text()
		}
	}
	a.voice = a.protocol.voice(a)
	switch {
	case resp.Refusal != nil:
		refuse(a.w, a.protocol, resp.Refusal)
	case a.req.Stream || resp.Raw != "":
		a.stream(resp)
	default:
		a.whole(resp)
	}
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, p protocol, r *Refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.Status)
	json.NewEncoder(w).Encode(p.refusal(r))
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
	switch {
	case resp.Hang:
		<-a.ctx.Done()
	case resp.Cut:
		panic(http.ErrAbortHandler) // net/http's way to break a connection
	case resp.Failure != nil:
		a.w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(a.w).Encode(a.protocol.refusal(resp.Failure))
	default:
		a.w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(a.w).Encode(a.voice.whole(resp, a.usage(resp)))
	}
}

// stream answers piece by piece.
func (a *answering) stream(resp Response) {
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.w.Header().Set("Cache-Control", "no-cache")
	if resp.Raw != "" {
		a.write(resp.Raw)
	} else if !a.pieces(resp) {
		return
	}
	switch {
	case resp.Hang:
		<-a.ctx.Done()
	case resp.Cut:
		panic(http.ErrAbortHandler)
	case resp.Raw != "":
	case resp.Failure != nil:
		a.voice.fail(resp.Failure)
	default:
		a.voice.end(resp.finish(), a.usage(resp))
	}
}

// pieces streams reasoning, text and calls; false if the client went away.
func (a *answering) pieces(resp Response) bool {
	a.voice.begin(a.usage(resp))
	for range resp.Alive {
		a.voice.alive()
	}
	if reasoning := words(resp.Reasoning); len(reasoning) > 0 && !a.voice.reason(reasoning) {
		return false
	}
	if text := resp.pieces(); len(text) > 0 && !a.voice.say(text) {
		return false
	}
	for _, c := range resp.Calls {
		a.voice.call(c)
	}
	return a.ctx.Err() == nil
}

// each does something with pieces, at the model's pace; false if the client went away.
func (a *answering) each(pieces []string, do func(string)) bool {
	for _, piece := range pieces {
		do(piece)
		if !a.rest(a.delay) {
			return false
		}
	}
	return true
}

// usage is what a response costs: as it says, or estimated.
func (a *answering) usage(resp Response) Usage {
	if resp.Usage != nil {
		return *resp.Usage
	}
	written := len(strings.Join(resp.pieces(), ""))
	for _, c := range resp.Calls {
		written += len(c.Name) + len(c.Arguments)
	}
	return Usage{
		Input: a.req.Tokens(), Output: tokens(written + len(resp.Reasoning)), Cached: a.known / 4,
		Reasoning: tokens(len(resp.Reasoning)),
	}
}

// event writes an event of the stream; the name may be empty.
func (a *answering) event(name string, data object) {
	raw, err := json.Marshal(data)
	if err != nil {
		return // not for texts and numbers
	}
	if name != "" {
		name = "event: " + name + "\n"
	}
	a.write(fmt.Sprintf("%sdata: %s\n\n", name, raw))
}

// write sends bytes at once. Errors show when the context ends.
func (a *answering) write(s string) {
	io.WriteString(a.w, s)
	if f, ok := a.w.(http.Flusher); ok {
		f.Flush()
	}
}
