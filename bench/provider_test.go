package bench

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/loop/openai"
)

const rounds = 30

// provider is a model without latency behind HTTP. It keeps the bodies of the requests, so that a bare client can make the
// same calls.
type provider struct {
	server *httptest.Server
	script *demo.Scripted
	model  loop.Model

	mu     sync.Mutex
	bodies [][]byte
}

// newProvider returns a provider whose model asks for one tool call a round and answers in the last.
func newProvider(b *testing.B) *provider {
	return newScripted(b, func(req demo.Request) demo.Response {
		n := 0
		for _, m := range req.Messages { // each conversation has one turn
			if m.Role == "assistant" {
				n++
			}
		}
		if n < rounds-1 {
			return demo.CallTool("echo", `{"text":"`+strconv.Itoa(n)+`"}`)
		}
		return demo.Say("Done.")
	})
}

// newScripted returns a provider whose model answers by a script.
func newScripted(b *testing.B, answer func(demo.Request) demo.Response) *provider {
	p := &provider{}
	script := demo.NewScripted(demo.Options{Delay: -1}, answer)
	p.script = script
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.bodies = append(p.bodies, body)
		p.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		script.ServeHTTP(w, r)
	}))
	b.Cleanup(p.server.Close)
	model, err := openai.New(openai.Config{BaseURL: p.server.URL + "/v1", Model: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(model.Close)
	p.model = model
	return p
}

// take returns the requests so far and forgets them.
func (p *provider) take() [][]byte {
	p.script.Forget() // or what both sides have asked would fill the memory that the collector goes through
	p.mu.Lock()
	defer p.mu.Unlock()
	bodies := p.bodies
	p.bodies = nil
	return bodies
}
