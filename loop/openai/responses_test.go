package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/sessions"
)

// Pieces of Responses streams.
func event(kind, fields string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, fields)
}

func doneItem(index int, item string) string {
	return event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, index, item))
}

func messageItem(text string) string {
	return fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}`, text)
}

func callItem(id, arguments string) string {
	return fmt.Sprintf(`{"type":"function_call","id":"fc_%s","call_id":%q,"name":"f","arguments":%q}`, id, id, arguments)
}

func completed(output string) string {
	return event("response.completed", `"response":{"status":"completed","error":null,"output":`+output+
		`,"usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":2},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":1}}}`)
}

func newResponses(t *testing.T, model string) *provider.Model {
	t.Helper()
	m, err := NewResponses(Config{Model: model, Reasoning: reasoningOf(t, model), Effort: provider.EffortLow})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestResponsesStreams: imitators leave out what says something twice, or send nothing but the end.
func TestResponsesStreams(t *testing.T) {
	usage := sessions.Usage{Input: 7, Output: 3, Cached: 2, Reasoning: 1}
	text := loop.Reply{
		Message: sessions.Message{Role: sessions.RoleAssistant, Text: "Hi"}, Finish: loop.FinishStop, Usage: usage,
	}
	calls := loop.Reply{Message: sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{
		{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "f", Arguments: "{}"},
	}}, Finish: loop.FinishTools, Usage: usage}
	both := "[" + callItem("a", `{"x":1}`) + "," + callItem("b", "{}") + "]"
	piece := func(kind string, index int, field, text string) string {
		return event("response."+kind, fmt.Sprintf(`"output_index":%d,"content_index":0,%q:%q`, index, field, text))
	}
	for _, test := range []struct {
		name, stream string
		want         loop.Reply
	}{
		{"pieces and everything again", piece("output_text.delta", 0, "delta", "H") + piece("output_text.delta", 0, "delta", "i") +
			piece("output_text.done", 0, "text", "Hi") + doneItem(0, messageItem("Hi")) + completed("["+messageItem("Hi")+"]"), text},
		{"text as a whole", piece("output_text.done", 0, "text", "Hi") + doneItem(0, messageItem("Hi")) + completed("[]"), text},
		{"item as a whole", doneItem(0, messageItem("Hi")) + completed("["+messageItem("Hi")+"]"), text},
		{"response as a whole", completed("[" + messageItem("Hi") + "]"), text},
		{"refusal", piece("refusal.delta", 0, "delta", "Hi") + piece("refusal.done", 0, "refusal", "Hi") + completed("[]"), text},
		{"refusal as a whole", doneItem(0, `{"type":"message","content":[{"type":"refusal","refusal":"Hi"}]}`) + completed("[]"), text},
		{"no event names", strings.ReplaceAll(completed("["+messageItem("Hi")+"]"), "event: response.completed\n", ""), text},
		{"unknown events", event("response.future", `"x":[{}]`) + ": comment\n\n" + completed("["+messageItem("Hi")+"]") + done, text},
		{"calls interleaved", event("response.output_item.added", `"output_index":0,"item":`+callItem("a", "")) +
			event("response.output_item.added", `"output_index":1,"item":`+callItem("b", "")) +
			piece("function_call_arguments.delta", 0, "delta", `{"x":`) + piece("function_call_arguments.delta", 1, "delta", `{}`) +
			piece("function_call_arguments.delta", 0, "delta", `1}`) + doneItem(1, callItem("b", "{}")) + doneItem(0, callItem("a", `{"x":1}`)) +
			completed(both), calls},
		{"calls without deltas", doneItem(0, callItem("a", `{"x":1}`)) + piece("function_call_arguments.done", 1, "arguments", "{}") +
			doneItem(1, callItem("b", "{}")) + completed(both), calls},
		{"calls as a whole", completed(both), calls},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, heard, err := modeltest.Play(t, newResponses(t, "m"), test.stream)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || heard != got.Message.Text {
				t.Errorf("heard %q, %s", heard, diff)
			}
		})
	}
	body := strings.TrimSuffix(strings.TrimPrefix(completed("["+messageItem("Hi")+"]"), `event: response.completed`+"\n"+`data: {"type":"response.completed","response":`), "}\n\n")
	if got, _, err := modeltest.Play(t, newResponses(t, "m"), body); err != nil || cmp.Diff(text, got) != "" {
		t.Errorf("no stream at all: %+v, %v", got, err)
	}
}

func TestResponsesFailures(t *testing.T) {
	half := event("response.output_text.delta", `"output_index":0,"delta":"Half"`)
	for name, test := range map[string]struct {
		stream string
		class  loop.ErrorClass
	}{
		"failed":        {half + event("response.failed", `"response":{"status":"failed","error":{"code":"server_error","message":"x"}}`), loop.ModelOverloaded},
		"rate limited":  {half + event("response.failed", `"response":{"error":{"code":"rate_limit_exceeded","message":"x"}}`), loop.ModelRateLimited},
		"bad prompt":    {half + event("response.failed", `"response":{"error":{"code":"invalid_prompt","message":"x"}}`), loop.ModelBadRequest},
		"no reason":     {half + event("response.failed", `"response":{}`), loop.ModelOverloaded},
		"error event":   {half + event("error", `"code":"server_error","message":"x","param":null,"sequence_number":3`), loop.ModelOverloaded},
		"typed error":   {half + `data: {"type":"error","code":"context_length_exceeded","message":"x"}` + "\n\n", loop.ModelTooLong},
		"nested error":  {half + event("error", `"error":{"type":"invalid_request_error","code":"insufficient_quota","message":"x"}`), loop.ModelQuota},
		"cancelled":     {half + event("response.cancelled", `"response":{}`), loop.ModelNetwork},
		"without end":   {half + done, loop.ModelNetwork},
		"garbled event": {half + "event: response.output_text.delta\ndata: {\"type\n\n", loop.ModelNetwork},
	} {
		if reply, _, err := modeltest.Play(t, newResponses(t, "m"), test.stream); loop.ModelClass(err) != test.class || err == nil {
			t.Errorf("%s: %+v, %v", name, reply, err)
		}
	}
}

func TestResponsesRequest(t *testing.T) {
	req := conversation()
	req.Messages[1].Text = "Let me look."
	req.Messages[1].Reasoning = []sessions.Opaque{
		{Provider: "responses api.openai.com gpt-5", Data: json.RawMessage(`{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"x"}`)},
		{Provider: "responses api.openai.com gpt-5", Text: 12, Calls: 1, Data: json.RawMessage(`{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":"y"}`)},
		{Provider: "messages api.anthropic.com claude", Data: json.RawMessage(`{"type":"thinking"}`)},
	}
	req.NoTools, req.MaxOutput = true, 5
	_, raw := modeltest.Sent(t, newResponses(t, "gpt-5"), req)
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	object := func(kind string, fields ...any) map[string]any {
		o := map[string]any{"type": kind}
		for i := 0; i < len(fields); i += 2 {
			o[fields[i].(string)] = fields[i+1]
		}
		return o
	}
	call := func(id, arguments string) any {
		return object("function_call", "call_id", id, "name", "read_file", "arguments", arguments)
	}
	result := func(id, text string) any { return object("function_call_output", "call_id", id, "output", text) }
	reasoning := func(id, content string) any {
		return object("reasoning", "id", id, "summary", []any{}, "encrypted_content", content)
	}
	want := map[string]any{
		"model": "gpt-5", "stream": true, "store": false, "include": []any{"reasoning.encrypted_content"},
		"reasoning":    map[string]any{"effort": "low"},
		"instructions": "You help.", "max_output_tokens": 16.0, "tool_choice": "none",
		"tools": []any{object("function", "name", "read_file", "description", "Reads.", "strict", false, "parameters", map[string]any{
			"type": "object", "properties": map[string]any{"b": map[string]any{}, "a": map[string]any{}},
		})},
		"input": []any{
			map[string]any{"role": "user", "content": "Read <x> & y"},
			reasoning("rs_1", "x"),
			map[string]any{"role": "assistant", "content": "Let me look."},
			call("1", ` {"path": "x"}`), reasoning("rs_2", "y"), call("2", "{}"), call("3", `{"not_json":"{\"path\":\"y"}`), call("4", `{"not_json":"null"}`),
			result("1", "content"), result("2", "(empty)"), result("3", "no"), result("4", "no"),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(raw), `"properties":{"b":{},"a":{}}`) {
		t.Error("the schema's bytes were reordered")
	}
	if _, raw := modeltest.Sent(t, newResponses(t, "gpt-4o"), req); strings.Contains(string(raw), "include") || strings.Contains(string(raw), "rs_1") {
		t.Errorf("another model: %s", raw)
	}
}

func TestResponsesPrefixIsStable(t *testing.T) {
	req := conversation()
	input := func(req loop.Request) string {
		_, raw := modeltest.Sent(t, newResponses(t, "m"), req)
		var body struct{ Input json.RawMessage }
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(string(body.Input), "]")
	}
	shorter, noted := req, req
	shorter.Messages, noted.Hint = req.Messages[:1], "It is noon."
	if !strings.HasPrefix(input(req), input(shorter)) || !strings.HasPrefix(input(noted), input(req)) {
		t.Error("the beginning changes")
	}
}
