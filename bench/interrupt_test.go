package bench

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/loop/openai"
)

// thinker is a model behind HTTP that thinks until it is interrupted.
type thinker struct {
	server *httptest.Server
	asked  chan struct{}
	left   chan time.Time // when the server noticed
}

func newThinker(b *testing.B) *thinker {
	t := &thinker{asked: make(chan struct{}, 1), left: make(chan time.Time, 1)}
	t.server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		t.asked <- struct{}{}
		<-r.Context().Done()
		t.left <- time.Now()
	}))
	b.Cleanup(t.server.Close)
	return t
}

// BenchmarkInterrupt: from a new message on Telegram until the model's server sees that the call that it interrupts is
// gone, against a bare bot that commits the message and cancels its call. The message has to be polled and made durable in
// between. Goal: 20 ms at the 99th percentile.
func BenchmarkInterrupt(b *testing.B) {
	const people, messages = 20, 20
	ours, bare := newTown(b, people), newTown(b, people)
	thinks, thinksToo := newThinker(b), newThinker(b)
	model, err := openai.New(openai.Config{BaseURL: thinks.server.URL + "/v1", Model: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(model.Close)
	inTown(b, ours, model)
	t := newBot(b, bare, client{url: thinksToo.server.URL}, 1)
	b.Cleanup(t.start(t.interruptible()))
	var mine, its []time.Duration
	for b.Loop() {
		for i := range people { // so that no history gets long
			ours.say(b, i, "go")
			bare.say(b, i, "go")
			for range messages {
				mine = append(mine, thinks.interrupt(b, ours, i, "go"))
				its = append(its, thinksToo.interrupt(b, bare, i, "go"))
			}
			thinks.interrupt(b, ours, i, "/stop")
			thinksToo.interrupt(b, bare, i, "/stop")
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ratio(median(mine), median(its)), "x")
	for _, of := range []struct {
		name string
		all  []time.Duration
	}{{"ours", mine}, {"bare", its}} {
		b.ReportMetric(float64(quantile(of.all, 0.99).Microseconds())/1000, "p99-ms-"+of.name)
		b.ReportMetric(float64(median(of.all).Microseconds())/1000, "ms-"+of.name)
	}
}

// interrupt has somebody write once the model has been asked for what he wrote before, and returns how long that call
// went on.
func (t *thinker) interrupt(b *testing.B, at *town, person int, text string) time.Duration {
	receive(b, t.asked, "the model's call")
	began := time.Now()
	at.say(b, person, text)
	return receive(b, t.left, "the call's end").Sub(began)
}

// interruptible returns what a bot does that interrupts its call for each new message.
func (t *bot) interruptible() func(context.Context, int64, string) {
	interrupt := func() {}
	var calling sync.WaitGroup
	return func(ctx context.Context, _ int64, text string) {
		t.durable(0)
		interrupt()
		calling.Wait()
		if text == "/stop" {
			return
		}
		ctx, interrupt = context.WithCancel(ctx)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.client.url, strings.NewReader(text))
		if err != nil {
			t.b.Error(err)
			return
		}
		calling.Go(func() {
			if res, err := t.client.http.Do(req); err == nil {
				res.Body.Close()
			}
		})
	}
}
