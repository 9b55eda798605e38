package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/sessions"
)

// conversation has every kind of message, and the empty fields that the wire format is prone to lose.
func conversation() loop.Request {
	return loop.Request{
		System: "You help.",
		Tools:  json.RawMessage(`[{"name":"read_file","description":"Reads.","schema":{"type":"object","properties":{"b":{},"a":{}}}}]`),
		Messages: []sessions.Message{
			{Role: sessions.RoleUser, Text: "Read <x> & y"},
			{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{
				{ID: "1", Name: "read_file", Arguments: ` {"path": "x"}`},
				{ID: "2", Name: "read_file", Arguments: ""},
				{ID: "3", Name: "read_file", Arguments: `{"path":"y`},
				{ID: "4", Name: "read_file", Arguments: "null"},
			}},
			{Role: sessions.RoleTool, ToolCallID: "1", Text: "content"},
			{Role: sessions.RoleTool, ToolCallID: "2"},
			{Role: sessions.RoleTool, ToolCallID: "3", Text: "no"},
			{Role: sessions.RoleTool, ToolCallID: "4", Text: "no"},
		},
	}
}

// wire returns the request as it would go over the wire.
// reasoningOf is what the profiles know of a model.
func reasoningOf(t testing.TB, model string) loop.Reasoning {
	t.Helper()
	known, err := loop.BuiltinProfiles()
	if err != nil {
		t.Fatal(err)
	}
	return loop.FindProfile(model, known).Reasoning
}

func wire(t *testing.T, model string, req loop.Request) (map[string]any, string) {
	t.Helper()
	m, err := New(Config{Model: model, Reasoning: reasoningOf(t, model), Effort: provider.EffortLow})
	if err != nil {
		t.Fatal(err)
	}
	_, raw := modeltest.Sent(t, m, req)
	var decoded map[string]any
	if err := json.Unmarshal(raw, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded, string(raw)
}

func TestRequest(t *testing.T) {
	got, raw := wire(t, "m", conversation())
	call := func(id, arguments string) any {
		return map[string]any{
			"id": id, "type": "function",
			"function": map[string]any{"name": "read_file", "arguments": arguments},
		}
	}
	result := func(id, text string) any {
		return map[string]any{"role": "tool", "tool_call_id": id, "content": text}
	}
	want := map[string]any{
		"model": "m", "stream": true, "stream_options": map[string]any{"include_usage": true},
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{
			"name": "read_file", "description": "Reads.",
			"parameters": map[string]any{"type": "object", "properties": map[string]any{"b": map[string]any{}, "a": map[string]any{}}},
		}}},
		"messages": []any{
			map[string]any{"role": "system", "content": "You help."},
			map[string]any{"role": "user", "content": "Read <x> & y"},
			map[string]any{"role": "assistant", "tool_calls": []any{
				call("1", ` {"path": "x"}`), call("2", "{}"), call("3", `{"not_json":"{\"path\":\"y"}`), call("4", `{"not_json":"null"}`),
			}},
			result("1", "content"), result("2", "(empty)"), result("3", "no"), result("4", "no"),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(raw, `"properties":{"b":{},"a":{}}`) {
		t.Error("the schema's bytes were reordered")
	}
}

func TestRequestPrefixIsStable(t *testing.T) {
	req := conversation()
	shorter := req
	shorter.Messages = req.Messages[:1]
	messages := func(req loop.Request) string {
		_, raw := wire(t, "m", req)
		_, rest, _ := strings.Cut(raw, `"messages":[`)
		list, _, _ := strings.Cut(rest, `],"stream"`)
		return list
	}
	if before, after := messages(shorter), messages(req); !strings.HasPrefix(after, before) {
		t.Errorf("%s\nis no prefix of\n%s", before, after)
	}
	req.Hint = "It is noon."
	if before, after := messages(conversation()), messages(req); !strings.HasPrefix(after, before) {
		t.Error("the hint is not after everything stable")
	}
}

func TestHint(t *testing.T) {
	const note = "[Note from the runtime, not from a person: It is noon.]"
	last := func(req loop.Request) any {
		req.Hint = "It is noon."
		got, _ := wire(t, "m", req)
		list := got["messages"].([]any)
		return list[len(list)-1]
	}
	if diff := cmp.Diff(any(map[string]any{"role": "user", "content": note}), last(conversation())); diff != "" {
		t.Errorf("after a tool result: %s", diff)
	}
	req := hello()
	if diff := cmp.Diff(any(map[string]any{"role": "user", "content": "Hello\n\n" + note}), last(req)); diff != "" {
		t.Errorf("after a user message: %s", diff)
	}
	if req.Messages[0].Text != "Hello" {
		t.Error("the history was changed")
	}
}

func TestToolChoiceAndLimits(t *testing.T) {
	req := conversation()
	req.NoTools, req.MaxOutput = true, 100
	got, _ := wire(t, "m", req)
	if got["tool_choice"] != "none" || got["tools"] == nil || got["max_tokens"] != 100.0 || got["reasoning_effort"] != nil {
		t.Errorf("tool_choice = %v, max_tokens = %v", got["tool_choice"], got["max_tokens"])
	}
	req.Tools = nil
	got, _ = wire(t, "gpt-5-mini", req)
	if got["tool_choice"] != nil || got["tools"] != nil || got["max_tokens"] != nil || got["max_completion_tokens"] != 100.0 || got["reasoning_effort"] != "low" {
		t.Errorf("without tools: %v", got)
	}
}

func TestBrokenDeclarations(t *testing.T) {
	m, err := New(Config{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	req := hello()
	req.Tools = json.RawMessage(`{"name":"x"}`)
	if _, err := m.Call(t.Context(), req, nil); loop.ModelClass(err) != loop.ModelBadRequest {
		t.Errorf("error = %v", err)
	}
}
