package anthropic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
)

// Pieces of streams.
func event(kind, fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, fields)
}

func begin(index int, block string) string {
	return event("content_block_start", fmt.Sprintf(`"index":%d,"content_block":%s`, index, block))
}

func delta(index int, delta string) string {
	return event("content_block_delta", fmt.Sprintf(`"index":%d,"delta":%s`, index, delta))
}

func end(index int) string { return event("content_block_stop", fmt.Sprintf(`"index":%d`, index)) }

func stop(reason string) string {
	return event("message_delta", fmt.Sprintf(`"delta":{"stop_reason":%q},"usage":{"output_tokens":9}`, reason)) + event("message_stop", "")
}

const start = `event: message_start` + "\n" + `data: {"type":"message_start","message":{"id":"m","content":[],"stop_reason":null,` +
	`"usage":{"input_tokens":5,"cache_creation_input_tokens":3,"cache_read_input_tokens":2,"output_tokens":1}}}` + "\n\n"

func TestStreams(t *testing.T) {
	usage := sessions.Usage{Input: 10, Output: 9, Cached: 2}
	reply := func(finish loop.Finish, text string, calls ...sessions.ToolCall) loop.Reply {
		return loop.Reply{
			Message: sessions.Message{Role: sessions.RoleAssistant, Text: text, ToolCalls: calls}, Finish: finish, Usage: usage,
		}
	}
	thought := reply(loop.FinishTools, "Hi", sessions.ToolCall{ID: "a", Name: "f", Arguments: `{"x":1}`})
	thought.Message.Reasoning = []sessions.Opaque{
		{Provider: "messages api.anthropic.com claude", Data: []byte(`{"signature":"st","thinking":"hm \u003c","type":"thinking"}`)},
		{Provider: "messages api.anthropic.com claude", Text: 2, Data: []byte(`{"data":"d","type":"redacted_thinking"}`)},
	}
	hi := begin(0, `{"type":"text","text":""}`) + delta(0, `{"type":"text_delta","text":"Hi"}`) + end(0)
	tool := begin(2, `{"type":"tool_use","id":"a","name":"f","input":{}}`)
	for _, test := range []struct {
		name, stream string
		want         loop.Reply
	}{
		{"text", start + event("ping", "") + hi + stop("end_turn"), reply(loop.FinishStop, "Hi")},
		{"text in the beginning", start + begin(0, `{"type":"text","text":"Hi"}`) + end(0) + stop("stop_sequence"), reply(loop.FinishStop, "Hi")},
		{"two texts", start + hi + strings.ReplaceAll(hi, `"index":0`, `"index":1`) + stop("end_turn"), reply(loop.FinishStop, "HiHi")},
		{"no event names", strings.ReplaceAll(start+hi+stop("end_turn"), "event: ", "ignored: "), reply(loop.FinishStop, "Hi")},
		{"no message_stop", strings.TrimSuffix(start+hi+stop("pause_turn"), event("message_stop", "")), reply(loop.FinishStop, "Hi")},
		{"max_tokens", start + hi + stop("max_tokens"), reply(loop.FinishLength, "Hi")},
		{"window", start + hi + stop("model_context_window_exceeded"), reply(loop.FinishLength, "Hi")},
		{"refusal", start + hi + stop("refusal"), reply(loop.FinishFiltered, "Hi")},
		{
			"input in the beginning", start + begin(0, `{"type":"tool_use","id":"a","name":"f","input":{"x": 1}}`) + end(0) + stop("tool_use"),
			reply(loop.FinishTools, "", sessions.ToolCall{ID: "a", Name: "f", Arguments: `{"x": 1}`}),
		},
		{"unknown blocks", start + begin(0, `{"type":"future","x":1}`) + delta(0, `{"type":"future_delta","y":[]}`) + end(0) + stop("end_turn"), reply(loop.FinishStop, "")},
		{
			"thinking", start + begin(0, `{"type":"thinking","thinking":"","signature":""}`) + delta(0, `{"type":"thinking_delta","thinking":"hm "}`) +
				delta(0, `{"type":"thinking_delta","thinking":"<"}`) + delta(0, `{"type":"signature_delta","signature":"s"}`) +
				delta(0, `{"type":"signature_delta","signature":"t"}`) + end(0) + strings.ReplaceAll(hi, `"index":0`, `"index":1`) +
				begin(3, `{"type":"redacted_thinking","data":"d"}`) + end(3) + tool + delta(2, `{"type":"input_json_delta","partial_json":"{\"x\""}`) +
				delta(2, `{"type":"input_json_delta","partial_json":":1}"}`) + end(2) + stop("tool_use"), thought,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, heard, err := modeltest.Play(t, newModel(t, Config{Model: "claude"}), test.stream)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || heard != got.Message.Text {
				t.Errorf("heard %q, %s", heard, diff)
			}
		})
	}
	whole := `{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn",` +
		`"usage":{"input_tokens":5,"cache_creation_input_tokens":3,"cache_read_input_tokens":2,"output_tokens":9}}`
	if got, _, err := modeltest.Play(t, newModel(t, Config{Model: "claude"}), whole); err != nil || cmp.Diff(reply(loop.FinishStop, "Hi"), got) != "" {
		t.Errorf("no stream at all: %+v, %v", got, err)
	}
}

func TestFailures(t *testing.T) {
	half := start + begin(0, `{"type":"text","text":"Half"}`)
	for name, test := range map[string]struct {
		stream string
		class  loop.ErrorClass
	}{
		"overloaded":   {half + event("error", `"error":{"type":"overloaded_error","message":"Overloaded"}`), loop.ModelOverloaded},
		"rate limited": {half + event("error", `"error":{"type":"rate_limit_error","message":"x"}`), loop.ModelRateLimited},
		"api error":    {half + event("error", `"error":{"type":"api_error","message":"Internal server error"}`), loop.ModelOverloaded},
		"bad request":  {half + event("error", `"error":{"type":"invalid_request_error","message":"x"}`), loop.ModelBadRequest},
		"auth":         {half + event("error", `"error":{"type":"authentication_error","message":"x"}`), loop.ModelAuth},
		"too long":     {half + event("error", `"error":{"type":"invalid_request_error","message":"prompt is too long: 2 tokens > 1 maximum"}`), loop.ModelTooLong},
		"cut":          {half, loop.ModelNetwork},
		"garbled":      {half + "event: content_block_delta\ndata: {\"ty\n\n", loop.ModelNetwork},
	} {
		if reply, _, err := modeltest.Play(t, newModel(t, Config{Model: "m"}), test.stream); err == nil || loop.ModelClass(err) != test.class {
			t.Errorf("%s: %+v, %v", name, reply, err)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	modeltest.Answers(f, newModel(f, Config{Model: "m"}),
		start+begin(0, `{"type":"text","text":"Hi"}`)+end(0)+stop("end_turn"),
		start+begin(0, `{"type":"tool_use","id":"a","name":"f","input":{"x":1}}`)+delta(0, `{"type":"input_json_delta","partial_json":"{}"}`)+stop("tool_use"),
		begin(0, `{"type":"thinking","signature":"s"}`)+end(0)+end(7)+stop("x"),
		`{"type":"message","content":[{"type":"tool_use","name":"f","input":[1]}],"stop_reason":"x"}`)
}
