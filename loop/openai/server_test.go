package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/sessions"
)

// pipes is a listener whose connections are net.Pipes, so that it works in virtual time.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	gone  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.gone:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.gone) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

const testKey = "sk-test-do-not-show"

// serve returns a model whose server is the function, which gets the decoded body of each request.
func serve(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, body map[string]any)) *provider.Model {
	t.Helper()
	return serveHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client went away
		}
		var body map[string]any
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Errorf("the request is not JSON: %v", err)
		}
		if r.URL.Path != "/v1/chat/completions" {
			t.Errorf("path = %s", r.URL.Path)
		}
		if got := r.Header.Get("Authorization"); got != "Bearer "+testKey {
			t.Errorf("authorization = %q", got)
		}
		handle(w, r, body)
	}))
}

func serveHandler(t *testing.T, handler http.Handler) *provider.Model {
	t.Helper()
	p := &pipes{conns: make(chan net.Conn), gone: make(chan struct{})}
	server := &http.Server{Handler: handler}
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(p) })
	m, err := New(Config{BaseURL: "http://model.test/v1", APIKey: testKey, Model: "m", Dial: p.dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Close()
		server.Close()
		serving.Wait()
	})
	return m
}

// sent returns the body of the request that a model makes of a request.
func sent(t interface {
	Helper()
	Fatal(...any)
}, m *provider.Model, req loop.Request,
) []byte {
	t.Helper()
	var body []byte
	m.Transport(roundTrip(func(r *http.Request) (*http.Response, error) {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			t.Fatal(err)
		}
		return nil, errors.New("that was all")
	}))
	if _, err := m.Call(context.Background(), req, nil); body == nil {
		t.Fatal(err)
	}
	return body
}

// roundTrip is a function in place of a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer returns a handler that sends raw bytes as a stream.
func answer(stream string) func(http.ResponseWriter, *http.Request, map[string]any) {
	return func(w http.ResponseWriter, _ *http.Request, _ map[string]any) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, stream)
	}
}

// refuse returns a handler that fails.
func refuse(status int, header http.Header, body string) func(http.ResponseWriter, *http.Request, map[string]any) {
	return func(w http.ResponseWriter, _ *http.Request, _ map[string]any) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// say is a chunk with text, deltas a chunk with any delta, finish the chunk that gives the reason.
func say(text string) string { return deltas(fmt.Sprintf(`{"content":%q}`, text)) }

func deltas(delta string) string {
	return fmt.Sprintf("data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}],\"usage\":null}\n\n", delta)
}

func finish(reason string) string {
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n", reason)
}

const (
	done       = "data: [DONE]\n\n"
	usageChunk = `data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,` +
		`"prompt_tokens_details":{"cached_tokens":2}}}` + "\n\n"
)

func hello() loop.Request {
	return loop.Request{System: "You help.", Messages: []sessions.Message{{Role: sessions.RoleUser, Text: "Hello"}}}
}
