package openai

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReplies(t *testing.T) {
	text := func(s string) sessions.Message { return sessions.Message{Role: sessions.RoleAssistant, Text: s} }
	calls := func(calls ...sessions.ToolCall) sessions.Message {
		return sessions.Message{Role: sessions.RoleAssistant, ToolCalls: calls}
	}
	call := func(id, name, arguments string) sessions.ToolCall {
		return sessions.ToolCall{ID: id, Name: name, Arguments: arguments}
	}
	for _, test := range []struct {
		name, stream string
		want         loop.Reply
	}{
		{
			"text and usage", say("Hel") + say("lo") + finish("stop") + usageChunk + done,
			loop.Reply{Message: text("Hello"), Finish: loop.FinishStop, Usage: sessions.Usage{Input: 7, Output: 3, Cached: 2}},
		},
		{
			"no [DONE] but a reason", say("Hi") + finish("stop"),
			loop.Reply{Message: text("Hi"), Finish: loop.FinishStop},
		},
		{
			"no reason but [DONE]", say("Hi") + done,
			loop.Reply{Message: text("Hi"), Finish: loop.FinishStop},
		},
		{
			"last line without its end", say("Hi") + strings.TrimSpace(finish("stop")),
			loop.Reply{Message: text("Hi"), Finish: loop.FinishStop},
		},
		{
			"many comments", strings.Repeat(": keep-alive\n\n", 500) + say("Hi") + strings.Repeat(": keep-alive\n\n", 500) +
				finish("stop") + done,
			loop.Reply{Message: text("Hi"), Finish: loop.FinishStop},
		},
		{
			"content in parts, reasoning, other choices",
			deltas(`{"role":"assistant","content":null,"reasoning":"hm","reasoning_content":"hm"}`) +
				deltas(`{"content":[{"type":"text","text":"H"},{"type":"text","text":"i"}]}`) +
				`data: {"choices":[{"index":1,"delta":{"content":"no"}}]}` + "\n\n" + finish("stop") + done,
			loop.Reply{Message: text("Hi"), Finish: loop.FinishStop},
		},
		{
			"refusal", deltas(`{"refusal":"I may not."}`) + finish("stop") + done,
			loop.Reply{Message: text("I may not."), Finish: loop.FinishStop},
		},
		{
			"empty", finish("stop") + done,
			loop.Reply{Message: text(""), Finish: loop.FinishStop},
		},
		{
			"length", say("Once upon") + finish("length") + done,
			loop.Reply{Message: text("Once upon"), Finish: loop.FinishLength},
		},
		{
			"filtered", say("How to") + finish("content_filter") + done,
			loop.Reply{Message: text("How to"), Finish: loop.FinishFiltered},
		},
		{
			"calls in pieces, interleaved",
			deltas(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read_file","arguments":""}}]}`) +
				deltas(`{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"terminal","arguments":""}}]}`) +
				deltas(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}},{"index":1,"function":{"arguments":"{}"}}]}`) +
				deltas(`{"tool_calls":[{"index":0,"function":{"arguments":"\"x\"}"}}]}`) + finish("tool_calls") + done,
			loop.Reply{
				Message: calls(call("a", "read_file", `{"path":"x"}`), call("b", "terminal", "{}")), Finish: loop.FinishTools,
			},
		},
		{
			"object arguments, said to stop",
			deltas(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x": 1}}}]}`) + finish("stop") + done,
			loop.Reply{Message: calls(call("a", "f", `{"x":1}`)), Finish: loop.FinishTools},
		},
		{
			"no index", deltas(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]}`) +
				deltas(`{"tool_calls":[{"function":{"arguments":"}"}}]}`) +
				deltas(`{"tool_calls":[{"id":"b","function":{"name":"f","arguments":"{}"}}]}`) + finish("tool_calls") + done,
			loop.Reply{Message: calls(call("a", "f", "{}"), call("b", "f", "{}")), Finish: loop.FinishTools},
		},
		{
			"one index for all", deltas(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`) +
				deltas(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{"}}]}`) +
				deltas(`{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}`) + finish("tool_calls") + done,
			loop.Reply{Message: calls(call("a", "f", "{}"), call("b", "g", "{}")), Finish: loop.FinishTools},
		},
		{
			"id and name repeated in every piece",
			deltas(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}`) +
				deltas(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}]}`) + finish("tool_calls") + done,
			loop.Reply{Message: calls(call("a", "f", "{}")), Finish: loop.FinishTools},
		},
		{
			"nameless call", deltas(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"","arguments":"{}"}}]}`) +
				deltas(`{"tool_calls":[{"index":1,"id":"b","function":{"name":null,"arguments":null}}]}`) + finish("tool_calls") + done,
			loop.Reply{Message: text(""), Finish: loop.FinishStop},
		},
		{
			"a whole completion instead of a stream",
			`{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi"}}],` +
				"\n" + `"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
			loop.Reply{Message: text("Hi"), Finish: loop.FinishStop, Usage: sessions.Usage{Input: 1, Output: 2}},
		},
		{
			"an error after the end", say("Hi") + finish("stop") + `data: {"error":{"message":"late"}}` + "\n\n" + done,
			loop.Reply{Message: text("Hi"), Finish: loop.FinishStop},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var heard strings.Builder
				got, err := serve(t, answer(test.stream)).Call(t.Context(), hello(), func(s string) { heard.WriteString(s) })
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
				if heard.String() != got.Message.Text {
					t.Errorf("the deltas were %q", heard.String())
				}
			})
		})
	}
}

func TestCallIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := deltas(`{"tool_calls":[{"index":0,"id":"taken","function":{"name":"f","arguments":"{}"}}]}`) +
			deltas(`{"tool_calls":[{"index":1,"function":{"name":"f","arguments":"{}"}}]}`) +
			deltas(`{"tool_calls":[{"index":2,"id":"","function":{"name":"f","arguments":"{}"}}]}`) + finish("tool_calls")
		req := hello()
		req.Messages = append(req.Messages,
			sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "taken", Name: "f", Arguments: "{}"}}},
			sessions.Message{Role: sessions.RoleTool, ToolCallID: "taken", Text: "ok"})
		reply, err := serve(t, answer(stream)).Call(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string]bool{"": true, "taken": true}
		for _, call := range reply.Message.ToolCalls {
			if ids[call.ID] {
				t.Errorf("id %q is not unique", call.ID)
			}
			ids[call.ID] = true
		}
		if len(reply.Message.ToolCalls) != 3 {
			t.Errorf("got %d calls, want 3", len(reply.Message.ToolCalls))
		}
	})
}

func TestFailures(t *testing.T) {
	openAI := func(message, kind, code string) string {
		return `{"error":{"message":"` + message + `","type":"` + kind + `","param":null,"code":"` + code + `"}}`
	}
	html := "<html><head><title>502 Bad Gateway</title></head></html>"
	half := say("Once upon") + deltas(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"pa"}}]}`)
	for _, test := range []struct {
		name   string
		handle func(http.ResponseWriter, *http.Request, map[string]any)
		class  loop.ErrorClass
		wait   time.Duration
	}{
		{"200 with a JSON error", refuse(200, nil, openAI("overloaded", "server_error", "")), loop.ModelOverloaded, 0},
		{"200 stream that is a bare error", answer(openAI("slow down", "rate_limit_error", "")), loop.ModelRateLimited, 0},
		{"200 with an OpenRouter error", refuse(200, nil, `{"error":{"code":429,"message":"later"}}`), loop.ModelRateLimited, 0},
		{"200 with a page", refuse(200, nil, html), loop.ModelBadRequest, 0},
		{"200 with nothing", refuse(200, nil, ""), loop.ModelNetwork, 0},
		{"200 with an empty object", refuse(200, nil, "{}"), loop.ModelBadRequest, 0},
		{"cut in the middle", answer(half), loop.ModelNetwork, 0},
		{"cut before anything", answer(": hello\n\n"), loop.ModelNetwork, 0},
		{"[DONE] and nothing else", answer(done), loop.ModelNetwork, 0},
		{"garbled chunk", answer(say("Hi") + "data: {\"cho\n\n" + done), loop.ModelNetwork, 0},
		{"error chunk", answer(half + "data: " + openAI("The server had an error", "server_error", "") + "\n\n"), loop.ModelOverloaded, 0},
		{"error chunk with other spacing", answer(half + `data: { "error" : {"message":"x","code":"context_length_exceeded"}}` + "\n\n"), loop.ModelTooLong, 0},
		{"error chunk among comments", answer(": a\n\n" + `data: {"error":{"message":"x","code":429}}` + "\n: b\n\n" + done), loop.ModelRateLimited, 0},
		{"bare error line", answer(half + openAI("busy", "overloaded_error", "")), loop.ModelOverloaded, 0},
		{"error event", answer(half + "event: error\n" + `data: {"message":"slow down","code":"rate_limit_exceeded"}` + "\n\n"), loop.ModelRateLimited, 0},
		{"error event without JSON", answer(half + "event: error\ndata: boom\n\n"), loop.ModelNetwork, 0},
		{"finish error", answer(half + finish("error") + done), loop.ModelOverloaded, 0},
		{"429 with seconds", refuse(429, http.Header{"Retry-After": {"7"}}, openAI("slow", "requests", "rate_limit_exceeded")), loop.ModelRateLimited, 7 * time.Second},
		{"429 with fractions", refuse(429, http.Header{"Retry-After": {"1.5"}}, ""), loop.ModelRateLimited, 1500 * time.Millisecond},
		{"429 with a date", refuse(429, http.Header{"Retry-After": {"Sat, 01 Jan 2000 00:00:30 GMT"}}, ""), loop.ModelRateLimited, 30 * time.Second},
		{"429 with milliseconds", refuse(429, http.Header{"Retry-After": {"9"}, "Retry-After-Ms": {"250"}}, ""), loop.ModelRateLimited, 250 * time.Millisecond},
		{"429 with nonsense", refuse(429, http.Header{"Retry-After": {"soon"}}, html), loop.ModelRateLimited, 0},
		{"429 with a date that has passed", refuse(429, http.Header{"Retry-After": {"Fri, 31 Dec 1999 00:00:00 GMT"}}, ""), loop.ModelRateLimited, 0},
		{"429 with an absurd wait", refuse(429, http.Header{"Retry-After": {"1e300"}}, ""), loop.ModelRateLimited, provider.MaxWait},
		{"429 for money", refuse(429, nil, openAI("You exceeded your current quota", "insufficient_quota", "insufficient_quota")), loop.ModelQuota, 0},
		{"429 for size", refuse(429, nil, openAI("Request too large for gpt-4o on tokens per min", "tokens", "rate_limit_exceeded")), loop.ModelTooLong, 0},
		{"402", refuse(402, nil, `{"error":{"message":"Insufficient Balance"}}`), loop.ModelQuota, 0},
		{"500", refuse(500, nil, openAI("oops", "server_error", "")), loop.ModelOverloaded, 0},
		{"500 that speaks of the context window", refuse(500, nil, openAI("context window cache failed", "server_error", "")), loop.ModelOverloaded, 0},
		{"502 page", refuse(502, nil, html), loop.ModelOverloaded, 0},
		{"503 with a wait", refuse(503, http.Header{"Retry-After": {"3"}}, html), loop.ModelOverloaded, 3 * time.Second},
		{"529", refuse(529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), loop.ModelOverloaded, 0},
		{"401", refuse(401, nil, openAI("Incorrect API key provided: "+testKey, "invalid_request_error", "invalid_api_key")), loop.ModelAuth, 0},
		{"403", refuse(403, nil, html), loop.ModelAuth, 0},
		{"404", refuse(404, nil, "404 page not found"), loop.ModelBadRequest, 0},
		{"308", refuse(308, http.Header{"Location": {"https://elsewhere.test/v1/chat/completions"}}, ""), loop.ModelBadRequest, 0},
		{"408", refuse(408, nil, ""), loop.ModelNetwork, 0},
		{"413", refuse(413, nil, html), loop.ModelTooLong, 0},
		{"too long by code", refuse(400, nil, openAI("no", "invalid_request_error", "context_length_exceeded")), loop.ModelTooLong, 0},
		{"too long by words", refuse(400, nil, openAI("prompt is too long: 131073 > 131072", "invalid_request_error", "")), loop.ModelTooLong, 0},
		{"too long at Gemini", refuse(400, nil, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed","status":"INVALID_ARGUMENT"}}]`), loop.ModelTooLong, 0},
		{"too long at vLLM", refuse(400, nil, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000","type":"BadRequestError","code":400}`), loop.ModelTooLong, 0},
		{"too long at llama.cpp", refuse(400, nil, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}`), loop.ModelTooLong, 0},
		{"400 content filter", refuse(400, nil, `{"error":{"message":"The response was filtered","code":"content_filter","status":400}}`), loop.ModelFiltered, 0},
		{"400", refuse(400, nil, openAI("Invalid value: 'tool'", "invalid_request_error", "")), loop.ModelBadRequest, 0},
		{"422 in a list", refuse(422, nil, `{"detail":[{"loc":["body"],"msg":"field required"}]}`), loop.ModelBadRequest, 0},
		{"error as a string", refuse(400, nil, `{"error":"model 'm' not found"}`), loop.ModelBadRequest, 0},
		{"stream that has a status in its error", answer(half + `data: {"error":{"message":"gone","code":502}}` + "\n\n"), loop.ModelOverloaded, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reply, err := serve(t, test.handle).Call(t.Context(), hello(), nil)
				var failed *loop.ModelError
				if !errors.As(err, &failed) {
					t.Fatalf("error = %v, reply = %+v", err, reply)
				}
				if failed.Class != test.class || failed.Wait != test.wait {
					t.Errorf("got %q and a wait of %v, want %q and %v: %v", failed.Class, failed.Wait, test.class, test.wait, err)
				}
				if !cmp.Equal(reply, loop.Reply{}) {
					t.Errorf("half a reply was given out: %+v", reply)
				}
				if strings.Contains(err.Error(), testKey) || strings.Contains(err.Error(), "model.test") {
					t.Errorf("the error says too much: %v", err)
				}
			})
		})
	}
}

func TestTimeouts(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request, _ map[string]any) { <-r.Context().Done() }
	sayAndHang := func(text string) func(http.ResponseWriter, *http.Request, map[string]any) {
		return func(w http.ResponseWriter, r *http.Request, body map[string]any) {
			answer(text)(w, r, body)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}
	for _, test := range []struct {
		name   string
		handle func(http.ResponseWriter, *http.Request, map[string]any)
		after  time.Duration
		want   error
	}{
		{"no first byte", hang, provider.DefaultSilence, provider.ErrSilent},
		{"silence between chunks", sayAndHang(say("Hi")), provider.DefaultSilence, provider.ErrSilent},
		{"no end after the reply", sayAndHang(say("Hi") + finish("stop")), provider.AfterFinish, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, err := serve(t, test.handle).Call(t.Context(), hello(), nil)
				if !errors.Is(err, test.want) || err != nil && loop.ModelClass(err) != loop.ModelNetwork {
					t.Errorf("error = %v, want %v", err, test.want)
				}
				if took := time.Since(start); took != test.after {
					t.Errorf("took %v, want %v", took, test.after)
				}
			})
		})
	}
	t.Run("no connection", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, err := New(Config{BaseURL: "http://model.test/v1", Model: "m", Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, err = m.Call(t.Context(), hello(), nil)
			if !errors.Is(err, provider.ErrNoConnection) || time.Since(start) != provider.DefaultConnectTimeout {
				t.Errorf("error = %v after %v", err, time.Since(start))
			}
		})
	})
	t.Run("comments keep a call alive", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := serve(t, func(w http.ResponseWriter, r *http.Request, body map[string]any) {
				for range 5 {
					answer(": thinking\n\n")(w, r, body)
					w.(http.Flusher).Flush()
					time.Sleep(provider.DefaultSilence - time.Second) // virtual time
				}
				answer(say("Hi")+finish("stop")+done)(w, r, body)
			})
			if reply, err := m.Call(t.Context(), hello(), nil); err != nil || reply.Message.Text != "Hi" {
				t.Errorf("reply = %+v, error = %v", reply, err)
			}
		})
	})
}

func TestCancel(t *testing.T) {
	errStop := errors.New("a person said stop")
	for _, test := range []struct{ name, before string }{
		{"before the first byte", ""},
		{"in the middle", say("Once")},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				m := serve(t, func(w http.ResponseWriter, r *http.Request, body map[string]any) {
					if test.before != "" {
						answer(test.before)(w, r, body)
						w.(http.Flusher).Flush()
					}
					time.Sleep(time.Second) // virtual time
					cancel(errStop)
					<-r.Context().Done()
				})
				start := time.Now()
				_, err := m.Call(ctx, hello(), nil)
				if err != errStop || time.Since(start) != time.Second {
					t.Errorf("error = %v after %v", err, time.Since(start))
				}
			})
		})
	}
	t.Run("while connecting", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			m, err := New(Config{BaseURL: "http://model.test/v1", Model: "m", Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				cancel(errStop)
				<-ctx.Done()
				return nil, ctx.Err()
			}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Call(ctx, hello(), nil); err != errStop {
				t.Errorf("error = %v", err)
			}
		})
	})
}

func TestDialFailure(t *testing.T) {
	refused := errors.New("connection refused")
	m, err := New(Config{BaseURL: "http://user:password@model.test/v1", Model: "m", Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, refused
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Call(t.Context(), hello(), nil)
	if !errors.Is(err, refused) || loop.ModelClass(err) != loop.ModelNetwork || strings.Contains(err.Error(), "password") {
		t.Errorf("error = %v", err)
	}
}

func TestNew(t *testing.T) {
	for _, config := range []Config{
		{},
		{BaseURL: "host/v1", Model: "m"},
		{BaseURL: "ftp://host/v1", Model: "m"},
		{BaseURL: "http://user:password@", Model: "m"},
	} {
		if _, err := New(config); err == nil || strings.Contains(err.Error(), "password") {
			t.Errorf("New(%+v): error = %v", config, err)
		}
	}
	m, err := New(Config{Model: "m"})
	if err != nil || m.Name() != "m" {
		t.Errorf("model = %+v, error = %v", m, err)
	}
}
