package loop_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
)

// thought is a reply with reasoning in it.
func thought(text, proof string, calls ...sessions.ToolCall) modeltest.Step {
	reply := loop.Reply{Finish: loop.FinishStop, Message: sessions.Message{
		Role: sessions.RoleAssistant, Text: text, ToolCalls: calls, Reasoning: []sessions.Opaque{{
			Provider: "p", Text: len(text), Data: json.RawMessage(`{"proof":"` + proof + `"}`),
		}},
	}}
	return modeltest.Reply(reply)
}

func proofs(messages []sessions.Message) (all []string) {
	for _, m := range messages {
		for _, o := range m.Reasoning {
			all = append(all, string(o.Data))
		}
	}
	return all
}

// TestReasoningIsKept: it is stored with the reply that it belongs to, and handed to the model again, through a
// compaction too, which keeps the newest messages as they are.
func TestReasoningIsKept(t *testing.T) {
	j := newJournal(t, "go")
	r := &loop.Runner{Compressor: loop.NewCompressor(nil, 4000, 0)}
	call := func(id string, size int) sessions.ToolCall {
		return sessions.ToolCall{ID: id, Name: "echo", Arguments: `{"text":"` + strings.Repeat("x ", size) + `"}`}
	}
	_, m := play(t, j, r, registry(t, echo(t)),
		thought("One.", "a", call("1", 3000)), thought("Two.", "b", call("2", 1)),
		modeltest.Fail(loop.ModelTooLong, 0), thought("Three.", "c"))
	requests := m.Requests()
	if diff := cmp.Diff([]string{`{"proof":"a"}`, `{"proof":"b"}`}, proofs(requests[2].Messages)); diff != "" {
		t.Error(diff)
	}
	last := proofs(requests[3].Messages)
	if len(last) == 0 || last[len(last)-1] != `{"proof":"b"}` {
		t.Errorf("after the compaction: %v", last)
	}
	stored := proofs(j.s.Messages)
	if len(stored) == 0 || stored[len(stored)-1] != `{"proof":"c"}` {
		t.Errorf("stored: %v", stored)
	}
}

// TestRepairAndReasoning: it goes with its message, but not with one that was joined with another.
func TestRepairAndReasoning(t *testing.T) {
	reasoning := []sessions.Opaque{{Provider: "p", Data: json.RawMessage("1")}}
	assistant := func(text string) sessions.Message {
		return sessions.Message{Role: sessions.RoleAssistant, Text: text, Reasoning: reasoning}
	}
	user := sessions.Message{Role: sessions.RoleUser, Text: "u", Reasoning: reasoning}
	out, _ := loop.Repair([]sessions.Message{user, assistant("a"), user, user, assistant("b"), assistant("c")})
	if err := loop.CheckLedger(out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1"}, proofs(out)); diff != "" {
		t.Error(diff)
	}
}
