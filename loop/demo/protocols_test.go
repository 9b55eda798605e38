package demo

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// postTo sends a request to an endpoint.
func postTo(t *testing.T, h http.Handler, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	resp := httptest.NewRecorder()
	h.ServeHTTP(resp, r)
	return resp
}

// eventNames returns the names of the events of a stream, equal ones in a row once, and checks that they are typed alike.
func eventNames(t *testing.T, stream string) (names []string) {
	t.Helper()
	for part := range strings.SplitSeq(strings.TrimSpace(stream), "\n\n") {
		name, data, ok := strings.Cut(part, "\ndata: ")
		name = strings.TrimPrefix(name, "event: ")
		var typed struct{ Type string }
		if err := json.Unmarshal([]byte(data), &typed); !ok || err != nil || typed.Type != name {
			t.Errorf("event %s: %v", part, err)
		}
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names
}

// everything is a response that has one of each.
func everything() Response {
	return Response{Alive: 1, Reasoning: "hm well", Text: "one two", Calls: []Call{{ID: "a", Name: "f", Arguments: `{"x": 1}`}}}
}

const (
	input    = `{"role":"user","content":"Hello"}`
	function = `{"type":"function","name":"f","parameters":{"type":"object"},"strict":false}`
	fCall    = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`
	fOutput  = `{"type":"function_call_output","call_id":"a","output":"x"}`

	asked     = `{"role":"user","content":"Hello"}`
	toolUse   = `{"type":"tool_use","id":"a","name":"f","input":{}}`
	used      = `{"role":"assistant","content":[` + toolUse + `]}`
	resulted  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`
	inputTool = `{"name":"f","input_schema":{"type":"object"}}`
)

func responsesBody(items ...string) string {
	return `{"model":"gpt-5","stream":true,"include":["reasoning.encrypted_content"],"tools":[` + function + `],"input":[` + strings.Join(items, ",") + `]}`
}

func messagesBody(all ...string) string {
	return `{"model":"claude-opus-4-6","max_tokens":5000,"stream":true,"thinking":{"type":"adaptive"},"tools":[` + inputTool + `],"messages":[` + strings.Join(all, ",") + `]}`
}

func TestResponsesEvents(t *testing.T) {
	s := NewScripted(Options{Delay: -1}, Steps(everything(), Response{Text: "x", Finish: "length"}, Response{Text: "x", Failure: Fail(500, "oops").Refusal}))
	item := func(inner ...string) []string {
		return append(append([]string{"output_item.added"}, inner...), "output_item.done")
	}
	want := append([]string{"created", "in_progress", "keepalive"},
		item("reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.done")...)
	want = append(want, item("content_part.added", "output_text.delta", "output_text.done", "content_part.done")...)
	want = append(want, item("function_call_arguments.delta", "function_call_arguments.done")...)
	want = append(want, "completed")
	for i := range want {
		if want[i] != "keepalive" {
			want[i] = "response." + want[i]
		}
	}
	if diff := cmp.Diff(want, eventNames(t, postTo(t, s, "/v1/responses", responsesBody(input)).Body.String())); diff != "" {
		t.Error(diff)
	}
	for _, last := range []string{"response.incomplete", "response.failed"} {
		names := eventNames(t, postTo(t, s, "/v1/responses", responsesBody(input)).Body.String())
		if names[len(names)-1] != last {
			t.Errorf("events = %v", names)
		}
	}
}

func TestMessagesEvents(t *testing.T) {
	s := NewScripted(Options{Delay: -1}, Steps(everything(), Response{Text: "x", Failure: Fail(529, "busy").Refusal}))
	block := []string{"content_block_start", "content_block_delta", "content_block_stop"}
	want := append([]string{"message_start", "ping"}, append(append(append([]string{}, block...), block...), block...)...)
	want = append(want, "message_delta", "message_stop")
	if diff := cmp.Diff(want, eventNames(t, postTo(t, s, "/v1/messages", messagesBody(asked)).Body.String())); diff != "" {
		t.Error(diff)
	}
	stream := postTo(t, s, "/v1/messages", messagesBody(asked)).Body.String()
	if names := eventNames(t, stream); names[len(names)-1] != "error" || !strings.Contains(stream, `"type":"overloaded_error"`) {
		t.Errorf("events = %v", names)
	}
}

// TestWholeAnswers: without streaming, the same comes in one piece.
func TestWholeAnswers(t *testing.T) {
	s := NewScripted(Options{Delay: -1}, func(Request) Response { return everything() })
	for path, body := range map[string]string{"/v1/responses": responsesBody(input), "/v1/messages": messagesBody(asked)} {
		resp := postTo(t, s, path, strings.Replace(body, `"stream":true`, `"stream":false`, 1))
		for _, part := range []string{"hm well", "one two", `"f"`, "output_tokens"} {
			if !bytes.Contains(resp.Body.Bytes(), []byte(part)) {
				t.Errorf("%s: %s lacks %s", path, resp.Body, part)
			}
		}
	}
}

func TestRefusedByProtocol(t *testing.T) {
	thinking := func(signature string) string {
		return `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"` + signature + `"},` + toolUse + `]}`
	}
	marked := `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`
	blocks := func(all ...string) string { return `{"role":"user","content":[` + strings.Join(all, ",") + `]}` }
	reasoning := func(fields string) string { return `{"type":"reasoning","id":"rs_1","summary":[]` + fields + `}` }
	for _, test := range []struct{ path, body, why string }{
		{"responses", responsesBody(input, fCall, fOutput), ""},
		{"responses", `{"model":"m","input":"Hello"}`, ""},
		{"responses", responsesBody(`{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}`, fCall, fOutput, input), ""},
		{"responses", responsesBody(), "must not be empty"},
		{"responses", `{"model":"m","input":"Hello","messages":[]}`, "unknown field"},
		{"responses", `{"model":"m","input":"Hello","max_output_tokens":15}`, "below minimum"},
		{"responses", `{"model":"gpt-4o","input":"Hello","include":["reasoning.encrypted_content"]}`, "not supported"},
		{"responses", `{"model":"m","input":"Hello","previous_response_id":"resp_1"}`, "not found"},
		{"responses", `{"model":"m","input":"Hello","tool_choice":"none"}`, "only allowed when tools"},
		{"responses", responsesBody(input, fCall), "no result"},
		{"responses", responsesBody(input, fOutput), "no open tool call"},
		{"responses", responsesBody(input, fCall, fCall, fOutput), "is taken"},
		{"responses", responsesBody(input, input), "two user messages"},
		{"responses", responsesBody(input, `{"type":"file"}`), "Invalid value"},
		{"responses", responsesBody(`{"role":"user","content":[{"type":"output_text","text":"x"}]}`), "Invalid value"},
		{"responses", responsesBody(`{"role":"user","content":""}`), "is empty"},
		{"responses", responsesBody(input, `{"type":"function_call","call_id":"a","name":"f"}`, fOutput), "no arguments"},
		{"responses", responsesBody(input, reasoning(`,"encrypted_content":"x.y"`), fCall, fOutput), "could not be verified"},
		{"responses", responsesBody(input, reasoning(""), fCall, fOutput), "not persisted"},
		{"responses", responsesBody(input, `{"type":"reasoning","id":"rs_1"}`, fCall, fOutput), "'summary'"},
		{"responses", responsesBody(reasoning(`,"encrypted_content":"x.SEAL"`), input), "required following item"},

		{"messages", messagesBody(asked, used, resulted), ""},
		{"messages", messagesBody(asked, thinking("SEAL"), resulted), ""},
		{"responses", `{"model":"m","input":"Hello","reasoning":{"effort":"low"}}`, "not supported with this model"},
		{"responses", `{"model":"gpt-5","input":"Hello","reasoning":{"effort":"vast"}}`, "does not support 'vast'"},
		{"messages", `{"model":"m","max_tokens":5000,"messages":[` + asked + `],"thinking":{"type":"adaptive"}}`, "adaptive thinking is not supported"},
		{"messages", `{"model":"claude-opus-4-7","max_tokens":5000,"messages":[` + asked + `],"thinking":{"type":"enabled","budget_tokens":2000}}`, "is not supported for this model"},
		{"messages", `{"model":"m","max_tokens":5000,"messages":[` + asked + `],"output_config":{"effort":"low"}}`, "effort parameter"},
		{"messages", `{"model":"m","messages":[` + asked + `]}`, "max_tokens: Field required"},
		{"messages", `{"model":"m","max_tokens":0,"messages":[` + asked + `]}`, "greater than or equal to 1"},
		{"messages", `{"model":"m","max_tokens":1,"messages":[]}`, "must not be empty"},
		{"messages", `{"model":"m","max_tokens":1,"messages":[` + asked + `],"tool_choice":{"type":"none"}}`, "while providing tools"},
		{"messages", `{"model":"m","max_tokens":1,"messages":[` + asked + `],"tools":[{"name":"f"}]}`, "input_schema"},
		{"messages", `{"model":"claude-opus-4-5","max_tokens":1024,"messages":[` + asked + `],"thinking":{"type":"enabled","budget_tokens":1024}}`, "must be greater"},
		{"messages", `{"model":"claude-opus-4-5","max_tokens":1024,"messages":[` + asked + `],"thinking":{"type":"enabled","budget_tokens":24}}`, "1024"},
		{"messages", strings.NewReplacer(`"adaptive"`, `"enabled","budget_tokens":2000`, "opus-4-6", "opus-4-5").Replace(messagesBody(asked, used, resulted)), "Expected `thinking`"},
		{"messages", messagesBody(asked, asked), "roles must alternate"},
		{"messages", messagesBody(asked, used), "no result"},
		{"messages", messagesBody(asked, used, asked), "must be followed by its result"},
		{"messages", messagesBody(asked, used, blocks(`{"type":"text","text":"x"}`, `{"type":"tool_result","tool_use_id":"a"}`)), "must come first"},
		{"messages", messagesBody(asked, used, strings.Replace(resulted, `"a"`, `"b"`, 1)), "no open tool call"},
		{"messages", messagesBody(used, resulted), "begins with a user message"},
		{"messages", messagesBody(`{"role":"system","content":"x"}`), "Unexpected role"},
		{"messages", messagesBody(`{"role":"user","content":[]}`), "non-empty content"},
		{"messages", messagesBody(`{"role":"user","content":""}`), "must be non-empty"},
		{"messages", messagesBody(`{"role":"user","content":" \n"}`), "non-whitespace"},
		{"messages", messagesBody(blocks(toolUse)), "can not be in user messages"},
		{"messages", messagesBody(asked, `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":"x"}]}`, resulted), "valid dictionary"},
		{"messages", messagesBody(asked, thinking("forged"), resulted), "Invalid `signature`"},
		{"messages", messagesBody(asked, strings.Replace(used, toolUse, toolUse+`,{"type":"thinking","thinking":"hm","signature":"SEAL"}`, 1), resulted), "cannot be `thinking`"},
		{"messages", messagesBody(blocks(marked, marked, marked, marked, marked)), "maximum of 4"},
		{"messages", messagesBody(blocks(`{"type":"text","text":"x","cache_control":{"type":"forever"}}`)), "ephemeral"},
		{"messages", messagesBody(asked, `{"role":"assistant","content":"I say"}`), "nothing to answer"},
	} {
		s := NewScripted(Options{Delay: -1}, func(Request) Response { return Say("Hi") })
		body := strings.ReplaceAll(test.body, "x.SEAL", "x."+s.seal("x"))
		body = strings.ReplaceAll(body, "SEAL", s.seal("hm"))
		resp := postTo(t, s, "/v1/"+test.path, body)
		if test.why == "" {
			if resp.Code != http.StatusOK || len(s.Refused()) > 0 {
				t.Errorf("%s: %s", test.body, resp.Body)
			}
			continue
		}
		var got struct {
			Type  string
			Error struct{ Type, Message string }
		}
		if err := json.Unmarshal(resp.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if resp.Code < 400 || resp.Code >= 500 || !strings.Contains(got.Error.Message, test.why) ||
			got.Error.Type != "invalid_request_error" || (got.Type == "error") != (test.path == "messages") {
			t.Errorf("%s: %d %s; want %q", test.body, resp.Code, resp.Body, test.why)
		}
	}
}

// TestMarkedCache: only what was marked is kept, and it is found from a mark a little later.
func TestMarkedCache(t *testing.T) {
	var c breakpoints
	prompt := func(n int, marks ...int) (out []promptBlock) {
		for range n {
			out = append(out, promptBlock{text: "0123456789"})
		}
		for _, m := range marks {
			out[m].marked = true
		}
		return out
	}
	for i, test := range []struct {
		prompt         []promptBlock
		known, written int
	}{
		{prompt(3), 0, 0}, {prompt(3, 1), 0, 20}, {prompt(3), 0, 0}, {prompt(4, 3), 20, 20}, {prompt(30, 29), 0, 300}, {prompt(30, 1, 29), 300, 0},
	} {
		if known, written := c.seen(test.prompt); known != test.known || written != test.written {
			t.Errorf("%d: %d known, %d written; want %d and %d", i, known, written, test.known, test.written)
		}
	}
}
