package openai

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// canned answers every request with the same bytes.
type canned struct {
	status int
	body   []byte
}

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: c.status, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(c.body)), Request: req,
	}, nil
}

// FuzzAnswers: whatever a server answers, the call ends in a whole reply that can be stored and sent back, or in a
// classified error.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{
		say("Hi") + finish("stop") + usageChunk + done,
		deltas(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":[1]}}}]}`) + finish("tool_calls"),
		"event: error\ndata: {\"message\":\"x\"}\n\n", `{"error":{"message":["a"],"code":429}}`, `[{"error":"x"}]`, "<html>", ":\n\n:\r\n",
		`{"choices":[{"message":{"content":[{"text":"x"}]},"finish_reason":"stop"}]}`, "data:[DONE]", "data: {\"choices\":null}\n",
	} {
		f.Add(200, []byte(body))
		f.Add(400, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		m, err := New(Config{Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		m.Transport(canned{status, body})
		var heard strings.Builder
		reply, err := m.Call(t.Context(), hello(), func(s string) { heard.WriteString(s) })
		if err != nil {
			var failed *loop.ModelError
			if !errors.As(err, &failed) || failed.Class == "" || failed.Err.Error() == "" {
				t.Errorf("error = %#v", err)
			}
			return
		}
		if status != http.StatusOK || reply.Message.Role != sessions.RoleAssistant || reply.Finish == "" || reply.Message.Text != heard.String() {
			t.Errorf("status %d, reply %+v, heard %q", status, reply, heard.String())
		}
		ids := map[string]bool{"": true}
		for _, c := range reply.Message.ToolCalls {
			if ids[c.ID] || strings.TrimSpace(c.Name) == "" {
				t.Errorf("call %+v", c)
			}
			ids[c.ID] = true
		}
	})
}
