package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/talaria-agent/talaria/loop/openai"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// BenchmarkMemory counts what a turn holds while its model thinks over its last call, of 100 turns at once: memory on the
// heap and stacks, the session and the request under way included, the store and the connection not. Each has got 29 results of
// 2,000 bytes by then. No goal; what cannot be gone without is the messages (1.0) and the request that they stand in (2.0).
func BenchmarkMemory(b *testing.B) {
	const turns = 100
	page, err := tools.New(tools.Spec{Name: "page", Description: "Shows a page.", Risk: tools.ReadOnly},
		func(_ context.Context, s tools.Scope, a struct{ Number int }) (tools.Result, error) {
			return tools.Result{Text: strings.Repeat(fmt.Sprintf("%-99d\n", a.Number), 20)}, nil
		})
	if err != nil {
		b.Fatal(err)
	}
	registry, err := tools.NewRegistry(page)
	if err != nil {
		b.Fatal(err)
	}
	model, err := openai.New(openai.Config{BaseURL: "http://model.test/v1", Model: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	p := &provider{model: model}
	var turn, share float64
	for b.Loop() {
		hold := &holding{arrived: make(chan struct{}, 2*turns), release: make(chan struct{})}
		model.Transport(hold)
		var journals [turns]volatile
		var running sync.WaitGroup
		before := held()
		for i := range journals {
			journals[i] = volatile{&sessions.Session{Key: sessions.Key(fmt.Sprintf("bench/%d", i))}}
			work := open(b, journals[i], registry)
			running.Go(func() {
				p.run(b, work)
				hold.arrived <- struct{}{} // or a turn that fails would be waited for
			})
		}
		for range turns {
			<-hold.arrived
		}
		all := float64(held() - before)
		said := 0
		for _, j := range journals {
			said += size(j.session.Messages)
		}
		turn, share = all/turns, all/float64(said)
		close(hold.release)
		running.Wait()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(turn, "bytes/turn")
	b.ReportMetric(share, "of-messages")
}

// held is how many bytes are in use, after everything that nobody needs is gone.
func held() int64 {
	runtime.GC()
	runtime.GC() // what the first one found in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// size is how many bytes messages have.
func size(messages []sessions.Message) (n int) {
	for _, m := range messages {
		n += len(m.Text)
		for _, c := range m.ToolCalls {
			n += len(c.Name) + len(c.Arguments)
		}
	}
	return n
}

// holding is the way to a model that asks for a page a round, and holds back its last answer.
type holding struct {
	arrived chan struct{}
	release chan struct{}
}

func (h *holding) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	round := bytes.Count(body, []byte(`"role":"assistant"`))
	delta, reason := fmt.Sprintf(`"tool_calls":[{"index":0,"id":"call_%d","function":{"name":"page","arguments":"{\"Number\":%d}"}}]`, round, round), "tool_calls"
	if round == rounds-1 {
		delta, reason = `"content":"Done."`, "stop"
		h.arrived <- struct{}{}
		<-h.release
	}
	const chunk = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{%s},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n"
	return canned(fmt.Sprintf(chunk, delta, reason)).RoundTrip(r)
}
