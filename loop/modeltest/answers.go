package modeltest

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

// Transporter is a model whose way to the network can be replaced.
type Transporter interface {
	loop.Model
	Transport(http.RoundTripper)
}

// Answers fuzzes what a server can answer, beginning with these bodies: the call ends in a whole reply that can be stored
// and sent back, or in a classified error.
func Answers(f *testing.F, m Transporter, bodies ...string) {
	for _, body := range append(bodies, "", "<html>", "[DONE]", ":\n\n:\r\n", `{"error":{"message":["a"],"code":429}}`, `[{"error":"x"}]`,
		"event: error\ndata: {\"message\":\"x\"}\n\n", "data: 1\n\n", "data: {\"type\":1}\n\n") {
		f.Add(http.StatusOK, []byte(body))
		f.Add(http.StatusBadRequest, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		m.Transport(canned{status, body})
		var heard strings.Builder
		reply, err := m.Call(t.Context(), greeting(), func(s string) { heard.WriteString(s) })
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

// Sent returns the request that a model would send.
func Sent(t testing.TB, m Transporter, req loop.Request) (header http.Header, body []byte) {
	t.Helper()
	m.Transport(recorder(func(r *http.Request) error {
		var err error
		header = r.Header
		body, err = io.ReadAll(r.Body)
		return errors.Join(err, errors.New("that was all"))
	}))
	if _, err := m.Call(t.Context(), req, nil); body == nil {
		t.Fatal(err)
	}
	return header, body
}

// recorder looks at requests and answers none.
type recorder func(*http.Request) error

func (f recorder) RoundTrip(r *http.Request) (*http.Response, error) { return nil, f(r) }

// Play returns what a model makes of a stream, and what it said on the way.
func Play(t testing.TB, m Transporter, stream string) (reply loop.Reply, heard string, err error) {
	t.Helper()
	m.Transport(canned{http.StatusOK, []byte(stream)})
	reply, err = m.Call(t.Context(), greeting(), func(s string) { heard += s })
	return reply, heard, err
}
