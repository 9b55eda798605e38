package modeltest

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/sessions"
)

// ledgers checks that whatever is in a log, once the loop has repaired it, the provider takes it.
func (s suite) ledgers(t *testing.T) {
	m, server := s.model(t, demo.Options{}, func(demo.Request) demo.Response { return demo.Say("Hi") })
	rapid.Check(t, func(t *rapid.T) {
		messages := rapid.SliceOfN(anyMessage(), 0, 12).Draw(t, "messages")
		req := greeting()
		req.Messages, _ = loop.Repair(append(messages, sessions.Message{Role: sessions.RoleUser, Text: "Go on."}))
		req.Hint = rapid.SampledFrom([]string{"", "It is noon."}).Draw(t, "hint")
		if _, err := m.Call(t.Context(), req, nil); err != nil {
			t.Fatal(err, server.Refused())
		}
	})
	if refused := server.Refused(); len(refused) > 0 {
		t.Error(refused)
	}
}

// anyMessage generates messages as logs may hold them, with what other providers and careless models leave there.
func anyMessage() *rapid.Generator[sessions.Message] {
	text := rapid.SampledFrom([]string{"", " ", "x", "ü\u0000\xff"})
	id := rapid.SampledFrom([]string{"", "1", "2", "call 3", "toolu_" + strings.Repeat("x", 60), "é"})
	call := rapid.Custom(func(t *rapid.T) sessions.ToolCall {
		return sessions.ToolCall{
			ID:        id.Draw(t, "id"),
			Name:      rapid.SampledFrom([]string{"", "read_file", "functions.read file", "é", strings.Repeat("n", 80)}).Draw(t, "name"),
			Arguments: rapid.SampledFrom([]string{"", "{}", ` {"a":1}`, "null", "[1]", `{"a`, "\xff", "{\"a\":\"\xff\"}"}).Draw(t, "arguments"),
		}
	})
	opaque := rapid.Just(sessions.Opaque{Provider: "somebody else", Text: 1, Calls: 1, Data: json.RawMessage(`{"secret":1}`)})
	return rapid.Custom(func(t *rapid.T) sessions.Message {
		m := sessions.Message{
			Role: rapid.SampledFrom([]sessions.Role{sessions.RoleUser, sessions.RoleAssistant, sessions.RoleTool}).Draw(t, "role"),
			Text: text.Draw(t, "text"),
		}
		switch m.Role {
		case sessions.RoleAssistant:
			m.ToolCalls = rapid.SliceOfN(call, 0, 3).Draw(t, "calls")
			m.Reasoning = rapid.SliceOfN(opaque, 0, 1).Draw(t, "reasoning")
		case sessions.RoleTool:
			m.ToolCallID = id.Draw(t, "id")
		}
		return m
	})
}
