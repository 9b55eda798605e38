package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post sends a request without any network. A broken connection shows as the panic that breaks it, reported as cut.
func post(ctx context.Context, h http.Handler, body string) (resp *httptest.ResponseRecorder, cut bool) {
	r := httptest.NewRequestWithContext(ctx, "POST", "/v1/chat/completions", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	resp = httptest.NewRecorder()
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			cut = true
		} else if p != nil {
			panic(p)
		}
	}()
	h.ServeHTTP(resp, r)
	return resp, false
}

// reply is what the tests read of an answer.
type reply struct {
	Choices []struct {
		Message struct {
			Content   string
			ToolCalls []ToolCall `json:"tool_calls"`
		}
		Delta struct {
			Content   string
			Reasoning string     `json:"reasoning_content"`
			ToolCalls []ToolCall `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	Error *struct{ Message, Type, Code string }
}

func read1(t *testing.T, raw string) reply {
	t.Helper()
	var r reply
	if err := json.Unmarshal([]byte(raw), &r); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return r
}

// events returns the chunks of a stream and whether [DONE] ended it.
func events(t *testing.T, stream string) (all []reply, done bool) {
	t.Helper()
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		switch {
		case !ok:
		case data == "[DONE]":
			done = true
		default:
			all = append(all, read1(t, data))
		}
	}
	return all, done
}

func streamed(body string) string {
	return strings.Replace(body, `{"model":"m",`, `{"model":"m","stream":true,"stream_options":{"include_usage":true},`, 1)
}

func TestStream(t *testing.T) {
	s := NewScripted(Options{Delay: -1}, Steps(Response{
		Reasoning: "hm well", Text: "one  two\nthree", Calls: []Call{{Name: "read_file", Arguments: `{"path": "x"}`}, {ID: "b", Name: "g", Arguments: "{}"}},
	}))
	resp, _ := post(t.Context(), s, streamed(request(user)))
	all, done := events(t, resp.Body.String())
	var text, finish string
	reasoning := 0
	var calls []string
	for _, e := range all {
		for _, c := range e.Choices {
			text += c.Delta.Content + "|"
			finish += c.FinishReason
			if c.Delta.Reasoning != "" {
				reasoning++
			}
			for _, call := range c.Delta.ToolCalls {
				calls = append(calls, call.Function.Name+*call.Function.Arguments)
			}
		}
	}
	if !strings.Contains(text, "one  |two\n|three|") || finish != "tool_calls" || !done || reasoning != 2 {
		t.Errorf("text %q, finish %q, done %v, %d pieces of reasoning", text, finish, done, reasoning)
	}
	if diff := cmp.Diff([]string{"read_file", `{"path": `, `"x"}`, "g", "{}"}, calls); diff != "" {
		t.Error(diff)
	}
	last := all[len(all)-1]
	if len(last.Choices) != 0 || last.Usage == nil || last.Usage.Prompt == 0 || last.Usage.Completion == 0 || all[0].Usage != nil {
		t.Errorf("usage: %+v", last)
	}
}

func TestWhole(t *testing.T) {
	s := NewScripted(Options{Delay: -1}, Steps(
		Response{Deltas: []string{"a", "b"}, Usage: &Usage{Input: 5, Output: 6, Cached: 4}},
		CallTool("read_file", "{}"), Response{}, Response{Text: "x", Finish: "length"},
	))
	var got []string
	for range 4 {
		resp, _ := post(t.Context(), s, request(user))
		r := read1(t, resp.Body.String())
		c := r.Choices[0]
		got = append(got, fmt.Sprintf("%s %d %s", c.Message.Content, len(c.Message.ToolCalls), c.FinishReason))
		if r.Usage == nil {
			t.Error("no usage")
		}
	}
	if diff := cmp.Diff([]string{"ab 0 stop", " 1 tool_calls", " 0 stop", "x 0 length"}, got); diff != "" {
		t.Error(diff)
	}
	resp, _ := post(t.Context(), s, request(user))
	if r := read1(t, resp.Body.String()); resp.Code != 400 || !strings.Contains(r.Error.Message, "no more steps") {
		t.Errorf("after the last step: %s", resp.Body)
	}
	if n := len(s.Requests()); n != 5 {
		t.Errorf("%d requests are recorded", n)
	}
}

func TestRefusals(t *testing.T) {
	s := NewScripted(Options{Delay: -1, Window: 100}, Steps(
		Response{Refusal: Fail(429, "slow down").Refusal, Header: http.Header{"retry-after": {"7"}}}, Fail(503, "busy"),
	))
	resp, _ := post(t.Context(), s, request(user))
	if r := read1(t, resp.Body.String()); resp.Code != 429 || resp.Header().Get("Retry-After") != "7" || r.Error.Type != "rate_limit_error" {
		t.Errorf("%d %v %s", resp.Code, resp.Header(), resp.Body)
	}
	resp, _ = post(t.Context(), s, request(user))
	if r := read1(t, resp.Body.String()); resp.Code != 503 || r.Error.Type != "server_error" || r.Error.Message != "busy" {
		t.Errorf("%d %s", resp.Code, resp.Body)
	}
	resp, _ = post(t.Context(), s, request(user, user))
	if resp.Code != 400 || len(s.Refused()) != 1 || len(s.Requests()) != 2 {
		t.Errorf("%d %s, %d refused", resp.Code, resp.Body, len(s.Refused()))
	}
	resp, _ = post(t.Context(), s, request(`{"role":"user","content":"`+strings.Repeat("long ", 100)+`"}`))
	if r := read1(t, resp.Body.String()); resp.Code != 400 || r.Error.Code != "context_length_exceeded" {
		t.Errorf("%d %s", resp.Code, resp.Body)
	}
}

func TestHTTP(t *testing.T) {
	s := New(Options{APIKey: "key"})
	do := func(method, path, kind, key, body string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Authorization", "Bearer "+key)
		resp := httptest.NewRecorder()
		s.ServeHTTP(resp, r)
		return resp.Code
	}
	for _, test := range []struct {
		method, path, kind, key, body string
		want                          int
	}{
		{"GET", "/v1/models", "", "key", "", 200},
		{"GET", "/v1/models", "", "wrong", "", 401},
		{"POST", "/v1/chat/completions", "application/json", "wrong", request(user), 401},
		{"POST", "/v1/chat/completions", "text/plain", "key", request(user), 400},
		{"POST", "/v1/chat/completions", "application/json; charset=utf-8", "key", request(user), 200},
		{"POST", "/v1/chat/completions", "application/json", "key", strings.Repeat(" ", maxBody+1), 413},
		{"GET", "/v1/chat/completions", "", "key", "", 405},
		{"POST", "/v1/responses", "application/json", "key", `{"model":"m","input":"Hello"}`, 200},
		{"POST", "/v1/responses", "application/json", "key", "{}", 400},
		{"POST", "/v1/messages", "application/json", "wrong", "{}", 401},
		{"POST", "/v1/embeddings", "application/json", "key", "{}", 404},
	} {
		if got := do(test.method, test.path, test.kind, test.key, test.body); got != test.want {
			t.Errorf("%s %s (%s, %s) = %d, want %d", test.method, test.path, test.kind, test.key, got, test.want)
		}
	}
}

func TestTime(t *testing.T) {
	for _, test := range []struct {
		name     string
		response Response
		took     time.Duration
		cut      bool
		text     string
	}{
		{"server's pace", Say("one two three"), 300 * time.Millisecond, false, "[DONE]"},
		{"own pace", Response{Text: "one two", Pause: time.Second}, 2 * time.Second, false, "[DONE]"},
		{"wait", Response{Wait: time.Minute}, time.Minute, false, "[DONE]"},
		{"cut", Response{Text: "one", Cut: true}, 100 * time.Millisecond, true, `"one"`},
		{"hang", Response{Text: "one", Hang: true}, time.Hour, false, `"one"`},
		{"client gone", Response{Wait: 2 * time.Hour}, time.Hour, false, ""},
		{"raw", Response{Raw: ": anything\n\n"}, 0, false, ": anything\n\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				start := time.Now()
				resp, cut := post(ctx, NewScripted(Options{Delay: 100 * time.Millisecond}, Steps(test.response)), streamed(request(user)))
				if took := time.Since(start); took != test.took || cut != test.cut {
					t.Errorf("took %v, cut = %v", took, cut)
				}
				if body := resp.Body.String(); !strings.Contains(body, test.text) {
					t.Errorf("body = %s", body)
				}
			})
		})
	}
}

func TestCache(t *testing.T) {
	s := NewScripted(Options{Delay: -1}, func(Request) Response { return Say("Hi") })
	cached := func(body string) int {
		resp, _ := post(t.Context(), s, body)
		return read1(t, resp.Body.String()).Usage.Details.Cached
	}
	if got := cached(request(sys, user)); got != 0 {
		t.Errorf("the first request: %d", got)
	}
	whole := len(sys+user+tool) / 4
	if got := cached(request(sys, user, said, user)); got != whole {
		t.Errorf("a longer request: %d, want %d", got, whole)
	}
	if got := cached(request(`{"role":"system","content":"You do not."}`, user)); got >= whole {
		t.Errorf("another request: %d", got)
	}
	var p prefixes
	for i := range 3 * remembered {
		p.seen(fmt.Sprint("prompt ", i, "."))
	}
	if len(p.recent) != remembered {
		t.Errorf("%d prompts are remembered", len(p.recent))
	}
}
