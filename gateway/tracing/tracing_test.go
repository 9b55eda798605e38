package tracing_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/gateway/tracing"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// taken is what a collector has got.
type taken struct {
	mu     sync.Mutex
	bodies []string
	key    string
	status int
}

func (c *taken) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies, c.key = append(c.bodies, string(body)), r.Header.Get("X-Key")
	w.WriteHeader(c.status)
}

type spanJSON struct {
	TraceID, SpanID, ParentSpanID, Name string
	StartTimeUnixNano, EndTimeUnixNano  string
	Status                              struct{ Message string }
}

func (c *taken) spans(t *testing.T) map[string]spanJSON {
	t.Helper()
	all := map[string]spanJSON{}
	for _, body := range c.bodies {
		var got struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []spanJSON }
			}
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		for _, s := range got.ResourceSpans[0].ScopeSpans[0].Spans {
			all[s.Name] = s
		}
	}
	return all
}

// play tells of a turn with a tool, a sub-agent and an answer.
func play(tr *tracing.Traces) {
	turn := func(e loop.Event) gateway.InTurn {
		return gateway.InTurn{Platform: "slack", Conversation: "slack/T/dm/D1", Task: "task1", Message: "m1", Started: time.Now().Add(-time.Minute), Event: e}
	}
	for _, e := range []loop.Event{
		loop.RoundStarted{Round: 1},
		loop.TextDelta{Text: "private words"},
		loop.ModelReturned{Round: 1, Model: "big", Took: 2 * time.Second, Usage: sessions.Usage{Input: 100, Output: 7}},
		loop.Replied{Round: 1, Text: "private words", Calls: 1},
		loop.CallStarted{CallID: "c1", Tool: "delegate_task", Preview: "private words"},
		loop.SubAgent{CallID: "c1", Task: 1, Event: loop.ModelReturned{Round: 1, Model: "small", Class: loop.ModelOverloaded, Took: time.Second}},
		loop.SubAgent{CallID: "c1", Task: 1, Event: loop.Ended{}},
		loop.CallEnded{CallID: "c1", Tool: "delegate_task", Outcome: sessions.OutcomeFailed, Class: tools.FailTimeout, Stage: "execution", Took: 3 * time.Second},
		loop.Ended{Outcome: loop.Outcome{Reason: loop.EndAnswered, Text: "private words", Rounds: 2}},
	} {
		tr.Observe(turn(e))
	}
	tr.Observe(gateway.RowSettled{Platform: "slack", State: sessions.Sent, Row: "r1", Conversation: "slack/T/dm/D1", Task: "task1", Message: "m1", Queued: time.Now().Add(-time.Second)})
}

// TestTraceOfATurn: all spans of a turn are in one trace, below each other as they belong, and hold nothing that was
// written. Another process would give them the same ids.
func TestTraceOfATurn(t *testing.T) {
	collectors := [2]*taken{{status: http.StatusOK}, {status: http.StatusOK}}
	for _, c := range collectors {
		server := httptest.NewServer(c)
		defer server.Close()
		tr, err := tracing.New(tracing.Config{URL: server.URL + "/v1/traces", Headers: map[string]string{"X-Key": "k"}, Version: "v1", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		play(tr)
		if err := tr.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if strings.Contains(strings.Join(c.bodies, ""), "private") || c.key != "k" {
			t.Errorf("with the key %q came %s", c.key, c.bodies)
		}
	}
	spans, again := collectors[0].spans(t), collectors[1].spans(t)
	for name, parent := range map[string]string{"turn": "", "model big": "turn", "tool delegate_task": "turn", "model small": "tool delegate_task", "delivery": "turn"} {
		s, ok := spans[name]
		if !ok || s.TraceID != spans["turn"].TraceID || s.ParentSpanID != spans[parent].SpanID {
			t.Errorf("span %q is %+v; its parent should be %+v", name, s, spans[parent])
		}
		if s.TraceID != again[name].TraceID {
			t.Errorf("span %q is in another trace the second time", name)
		}
		if begins, ends := s.StartTimeUnixNano, s.EndTimeUnixNano; len(begins) != len(ends) || begins >= ends {
			t.Errorf("span %q lasts from %s to %s", name, begins, ends)
		}
	}
	if len(spans) != 5 || spans["tool delegate_task"].Status.Message != string(tools.FailTimeout) || spans["turn"].Status.Message != "" {
		t.Errorf("spans are %+v", spans)
	}
}

// TestNoCollector: what no collector takes is dropped, with one line in the log, which has no address.
func TestNoCollector(t *testing.T) {
	server := httptest.NewServer(&taken{status: http.StatusServiceUnavailable})
	defer server.Close()
	var b strings.Builder
	tr, err := tracing.New(tracing.Config{URL: strings.Replace(server.URL, "//", "//me:secret@", 1), Log: slog.New(slog.NewTextHandler(&b, nil))})
	if err != nil {
		t.Fatal(err)
	}
	play(tr)
	_ = tr.Close(t.Context())
	if text := b.String(); strings.Contains(text, "secret") {
		t.Errorf("the log says %s", text)
	}
	for _, address := range []string{"", "localhost:4318", "ftp://x", ":"} {
		if _, err := tracing.New(tracing.Config{URL: address}); err == nil {
			t.Errorf("%q is an address", address)
		}
	}
}
