package anthropic

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/sessions"
)

func newModel(t testing.TB, config Config) *provider.Model {
	t.Helper()
	m, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// conversation has every kind of message, thinking in two places, and what the API is particular about.
func conversation() loop.Request {
	const own = "messages api.anthropic.com claude"
	return loop.Request{
		System: "You help.",
		Tools:  json.RawMessage(`[{"name":"read_file","description":"Reads.","schema":{"type":"object","properties":{"b":{},"a":{}},"additionalProperties":false}}]`),
		Messages: []sessions.Message{
			{Role: sessions.RoleUser, Text: "Read <x> & y"},
			{
				Role: sessions.RoleAssistant, Text: "Let me look.",
				ToolCalls: []sessions.ToolCall{
					{ID: "1", Name: "read_file", Arguments: ` {"path": "x"}`},
					{ID: "2", Name: "read_file", Arguments: ""},
					{ID: "3", Name: "read_file", Arguments: "null"},
				},
				Reasoning: []sessions.Opaque{
					{Provider: own, Data: json.RawMessage(`{"type":"thinking","thinking":"hm","signature":"s"}`)},
					{Provider: own, Text: 12, Calls: 1, Data: json.RawMessage(`{"type":"redacted_thinking","data":"d"}`)},
					{Provider: "messages other.test claude", Data: json.RawMessage(`{"type":"thinking"}`)},
				},
			},
			{Role: sessions.RoleTool, ToolCallID: "1", Text: "content"},
			{Role: sessions.RoleTool, ToolCallID: "2"},
			{Role: sessions.RoleTool, ToolCallID: "3", Text: "no"},
			{Role: sessions.RoleAssistant, Text: "Read."},
			{Role: sessions.RoleUser, Text: "And?"},
		},
		Hint: "It is noon.", NoTools: true,
	}
}

func TestRequest(t *testing.T) {
	header, raw := modeltest.Sent(t, newModel(t, Config{Model: "claude", APIKey: "key"}), conversation())
	if header.Get("X-Api-Key") != "key" || header.Get("Anthropic-Version") == "" || header.Get("Authorization") != "" || header.Get("User-Agent") != "talaria" {
		t.Errorf("header = %v", header)
	}
	for name := range header {
		if strings.HasPrefix(name, "X-Stainless") {
			t.Errorf("%s tells about this machine", name)
		}
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	cached := func(o object) object { o["cache_control"] = object{"type": "ephemeral"}; return o }
	text := func(s string) object { return object{"type": "text", "text": s} }
	call := func(id string, input object) object {
		return object{"type": "tool_use", "id": id, "name": "read_file", "input": input}
	}
	result := func(id, s string) object {
		return object{"type": "tool_result", "tool_use_id": id, "is_error": false, "content": []any{text(s)}}
	}
	want := object{
		"model": "claude", "stream": true, "max_tokens": float64(DefaultMaxOutput), "tool_choice": object{"type": "none"},
		"system": []any{cached(text("You help."))},
		"tools": []any{object{"name": "read_file", "description": "Reads.", "input_schema": object{
			"type": "object", "properties": object{"b": object{}, "a": object{}}, "additionalProperties": false,
		}}},
		"messages": []any{
			object{"role": "user", "content": []any{text("Read <x> & y")}},
			object{"role": "assistant", "content": []any{
				object{"type": "thinking", "thinking": "hm", "signature": "s"},
				text("Let me look."), call("1", object{"path": "x"}),
				object{"type": "redacted_thinking", "data": "d"},
				call("2", object{}), call("3", object{"not_json": "null"}),
			}},
			object{"role": "user", "content": []any{result("1", "content"), result("2", "(empty)"), cached(result("3", "no"))}},
			object{"role": "assistant", "content": []any{cached(text("Read."))}},
			object{"role": "user", "content": []any{cached(text("And?")), text("[Note from the runtime, not from a person: It is noon.]")}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(raw), `"properties":{"b":{},"a":{}}`) {
		t.Error("the schema's bytes were reordered")
	}
}

// TestPrefixIsStable: but for the marks, a longer conversation begins as the shorter one was.
func TestPrefixIsStable(t *testing.T) {
	marks := regexp.MustCompile(`,"cache_control":\{[^}]*\}|"cache_control":\{[^}]*\},?`)
	list := func(n int) string {
		req := conversation()
		req.Messages, req.Hint = req.Messages[:n], ""
		_, raw := modeltest.Sent(t, newModel(t, Config{Model: "claude"}), req)
		if n := strings.Count(string(raw), "cache_control"); n > 4 || n < 2 {
			t.Errorf("%d marks", n)
		}
		var body struct{ Messages json.RawMessage }
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(marks.ReplaceAllString(string(body.Messages), ""), "]")
	}
	for _, n := range []int{1, 5} {
		if all := list(7); !strings.HasPrefix(all, list(n)) {
			t.Errorf("%s\nis no prefix of\n%s", list(n), all)
		}
	}
}

func TestThinking(t *testing.T) {
	thinks := func(how loop.Reasoning, most int, req loop.Request) (kind string, limit int) {
		_, raw := modeltest.Sent(t, newModel(t, Config{Model: "another", Reasoning: how, Effort: provider.EffortLow, MostOutput: most}), req)
		var body struct {
			MaxTokens int                   `json:"max_tokens"`
			Thinking  struct{ Type string } `json:"thinking"`
		}
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Fatal(err)
		}
		return body.Thinking.Type, body.MaxTokens
	}
	whole := conversation()
	whole.MaxOutput = 1000
	open := whole
	open.Messages = open.Messages[:5] // calls of another model wait for their answer
	for _, test := range []struct {
		how   loop.Reasoning
		most  int
		req   loop.Request
		kind  string
		limit int
	}{
		{loop.ReasoningBudget, 0, whole, "enabled", 3048},
		{loop.ReasoningBudget, 0, open, "", 1000},
		{loop.ReasoningAdaptive, 0, open, "adaptive", 3048},
		{loop.ReasoningBudget, 2100, whole, "enabled", 2100},
		{"", 0, whole, "", 1000},
	} {
		if kind, limit := thinks(test.how, test.most, test.req); kind != test.kind || limit != test.limit {
			t.Errorf("%+v, at most %d: %q, %d", test.how, test.most, kind, limit)
		}
	}
	if _, err := New(Config{Model: "m", Effort: "huge"}); err == nil {
		t.Error("an unknown effort is taken")
	}
}

// TestEnvironment: what the environment holds for other programs goes nowhere.
func TestEnvironment(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "secret")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "secret")
	t.Setenv("ANTHROPIC_BASE_URL", "http://elsewhere.test")
	header, _ := modeltest.Sent(t, newModel(t, Config{Model: "m"}), conversation())
	if header.Get("X-Api-Key") != "" || header.Get("Authorization") != "" {
		t.Errorf("header = %v", header)
	}
}
