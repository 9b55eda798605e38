package provider

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/sessions"
)

func TestParts(t *testing.T) {
	calls := []sessions.ToolCall{{ID: "a"}, {ID: "b"}}
	opaque := func(text, call int) sessions.Opaque {
		return sessions.Opaque{Text: text, Calls: call, Data: json.RawMessage("1")}
	}
	for _, test := range []struct {
		name string
		in   sessions.Message
		want string
	}{
		{"no reasoning", sessions.Message{Text: "Hi ü", ToolCalls: calls}, "(Hi ü)ab"},
		{"first", sessions.Message{Text: "Hi", ToolCalls: calls, Reasoning: []sessions.Opaque{opaque(0, 0)}}, "!(Hi)ab"},
		{"everywhere", sessions.Message{Text: "Hi ü", ToolCalls: calls, Reasoning: []sessions.Opaque{
			opaque(0, 0), opaque(2, 0), opaque(5, 0), opaque(5, 1),
		}}, "!(Hi)!( ü)!a!b"},
		{"text after calls", sessions.Message{Text: "Hi", ToolCalls: calls, Reasoning: []sessions.Opaque{opaque(0, 2)}}, "ab!(Hi)"},
		{"in the middle of a character", sessions.Message{Text: "ü!", Reasoning: []sessions.Opaque{opaque(1, 0)}}, "!(ü!)"},
		{"text that was cut", sessions.Message{Text: "Hi", ToolCalls: calls[:1], Reasoning: []sessions.Opaque{opaque(9, 0), opaque(9, 7)}}, "(Hi)!a"},
		{"nothing follows", sessions.Message{Text: "Hi", Reasoning: []sessions.Opaque{opaque(2, 0), opaque(2, 1)}}, "(Hi)"},
		{"white space", sessions.Message{Text: "  Hi", Reasoning: []sessions.Opaque{opaque(2, 0)}}, "!(Hi)"},
		{"out of order", sessions.Message{Text: "Hi", ToolCalls: calls, Reasoning: []sessions.Opaque{opaque(2, 1), opaque(0, 0)}}, "(Hi)a!!b"},
	} {
		got := ""
		for _, part := range Parts(test.in) {
			switch {
			case part.Opaque != nil:
				got += "!"
			case part.Call != nil:
				got += part.Call.ID
			default:
				got += "(" + part.Text + ")"
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}
