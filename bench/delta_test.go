package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	anthropicsdk "github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	chat "github.com/sashabaranov/go-openai"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/anthropic"
	"github.com/talaria-agent/talaria/loop/openai"
	"github.com/talaria-agent/talaria/sessions"
)

// canned answers every request with the same stream.
type canned string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(string(c))), Request: r,
	}, nil
}

// transported is a model whose way to the network can be replaced.
type transported interface {
	loop.Model
	Transport(http.RoundTripper)
}

// stream is what a mode's server sends for a text, and the bare library that reads it.
type stream struct {
	start, delta, end string
	open              func(openai.Config) (transported, error)
	bare              func(*http.Client) error
}

func (s stream) of(deltas int) canned {
	return canned(s.start + strings.Repeat(s.delta, deltas) + s.end)
}

func event(name, data string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q,%s}\n\n", name, name, data)
}

var streams = map[string]stream{
	"chat": {
		delta: `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}` + "\n\n",
		end:   `data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
		open:  func(c openai.Config) (transported, error) { return openai.New(c) },
		bare: func(client *http.Client) error {
			config := chat.DefaultConfig("k")
			config.HTTPClient = client
			s, err := chat.NewClientWithConfig(config).CreateChatCompletionStream(context.Background(), chat.ChatCompletionRequest{Model: "m", Stream: true})
			for err == nil {
				_, err = s.Recv()
			}
			if err == io.EOF {
				return nil
			}
			return err
		},
	},
	"responses": {
		delta: event("response.output_text.delta", `"sequence_number":1,"item_id":"i","output_index":0,"content_index":0,"delta":"word ","logprobs":[]`),
		end:   event("response.completed", `"sequence_number":2,"response":{"id":"r","status":"completed","output":[]}`),
		open:  func(c openai.Config) (transported, error) { return openai.NewResponses(c) },
		bare: func(client *http.Client) error {
			service := responses.NewResponseService(openaioption.WithHTTPClient(client), openaioption.WithAPIKey("k"), openaioption.WithBaseURL("http://model.test/v1"))
			s := service.NewStreaming(context.Background(), responses.ResponseNewParams{Model: "m"})
			for s.Next() {
			}
			return s.Err()
		},
	},
	"messages": {
		start: event("message_start", `"message":{"id":"m","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}`) +
			event("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`),
		delta: event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"word "}`),
		end: event("content_block_stop", `"index":0`) + event("message_delta", `"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}`) +
			event("message_stop", `"x":0`),
		open: func(c openai.Config) (transported, error) { return anthropic.New(c) },
		bare: func(client *http.Client) error {
			service := anthropicsdk.NewMessageService(anthropicoption.WithHTTPClient(client), anthropicoption.WithAPIKey("k"), anthropicoption.WithBaseURL("http://model.test/"))
			s := service.NewStreaming(context.Background(), anthropicsdk.MessageNewParams{Model: "m", MaxTokens: 10})
			for s.Next() {
			}
			return s.Err()
		},
	},
}

// BenchmarkDelta counts the allocations that a piece of text costs on its way from the stream to the observer, and those
// of the bare library that reads it. Goal: at most two more than the library.
func BenchmarkDelta(b *testing.B) {
	for name, s := range streams {
		b.Run(name, func(b *testing.B) {
			m, err := s.open(openai.Config{BaseURL: "http://model.test/v1", APIKey: "k", Model: "m"})
			if err != nil {
				b.Fatal(err)
			}
			req := loop.Request{Messages: []sessions.Message{{Role: sessions.RoleUser, Text: "Go."}}}
			heard := 0
			ours := func(deltas int) error {
				m.Transport(s.of(deltas))
				_, err := m.Call(context.Background(), req, func(string) { heard++ })
				return err
			}
			bare := func(deltas int) error { return s.bare(&http.Client{Transport: s.of(deltas)}) }
			var our, sdk float64
			for b.Loop() {
				our, sdk = perDelta(b, ours), perDelta(b, bare)
			}
			if heard == 0 {
				b.Fatal("nothing was heard")
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(our, "allocs/delta-ours")
			b.ReportMetric(sdk, "allocs/delta-sdk")
		})
	}
}

// perDelta returns how many allocations one more delta makes.
func perDelta(b *testing.B, call func(deltas int) error) float64 {
	const few, many = 100, 2100
	count := func(deltas int) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := call(deltas); err != nil {
			b.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs - before.Mallocs)
	}
	count(few)
	return (count(many) - count(few)) / (many - few)
}
