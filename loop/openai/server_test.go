package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/sessions"
)

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
	m, err := New(Config{BaseURL: "http://model.test/v1", APIKey: testKey, Model: "m", Dial: modeltest.Serve(t, handler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

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
