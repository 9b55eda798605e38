package bench

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/openai"
	"github.com/talaria-agent/talaria/sessions"
)

// endless is a model's server on loopback that begins an answer, or does not even do that, and never ends it.
type endless struct {
	stream
	mute  bool
	asked chan struct{} // a call has arrived
}

func (e endless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	if !e.mute {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, e.start+e.delta)
		_ = http.NewResponseController(w).Flush()
	}
	e.asked <- struct{}{}
	<-r.Context().Done()
}

// BenchmarkCancel: how long a model call goes on once it is cancelled, over loopback in each of the API modes: before the
// first byte of the answer, and in the middle of it. Goal: 50 ms at the 99th percentile.
func BenchmarkCancel(b *testing.B) {
	for name, s := range streams {
		for when, mute := range map[string]bool{"thinking": true, "streaming": false} {
			b.Run(name+"/"+when, func(b *testing.B) { cancelCalls(b, endless{s, mute, make(chan struct{}, 1)}) })
		}
	}
}

func cancelCalls(b *testing.B, e endless) {
	const calls = 200
	server := httptest.NewServer(e)
	b.Cleanup(server.Close)
	m, err := e.open(openai.Config{BaseURL: server.URL + "/v1", APIKey: "k", Model: "m"})
	if err != nil {
		b.Fatal(err)
	}
	req := loop.Request{Messages: []sessions.Message{{Role: sessions.RoleUser, Text: "Go."}}}
	stop := errors.New("stop")
	var took []time.Duration
	for b.Loop() {
		for range calls {
			ctx, cancel := context.WithCancelCause(context.Background())
			heard, left := make(chan struct{}, 1), make(chan error, 1)
			go func() {
				_, err := m.Call(ctx, req, func(string) { heard <- struct{}{} })
				left <- err
			}()
			receive(b, e.asked, "the call")
			if !e.mute {
				receive(b, heard, "the first piece of the answer")
			}
			began := time.Now()
			cancel(stop)
			if err := receive(b, left, "the call's end"); err == nil {
				b.Fatal("the call has an answer")
			}
			took = append(took, time.Since(began))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(quantile(took, 0.99).Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(median(took).Microseconds())/1000, "ms")
}
