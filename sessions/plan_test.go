package sessions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnstarted: after a crash, what is known to have done nothing is told from what may have.
func TestUnstarted(t *testing.T) {
	asked := func(call, tool string) Question { return Question{Asked: Asked{Call: call, Tool: tool}} }
	decided := func(call string, allowed bool) Question {
		return Question{Asked{Call: call, Tool: "x"}, &Decided{Call: call, Allowed: allowed}}
	}
	for name, c := range map[string]struct {
		plan          []Planned
		done          int // calls that have their result
		questions     []Question
		again, others []string
	}{
		"no plan":                  {},
		"one behind the other":     {plan: []Planned{{Step: 1}, {Step: 2}, {Step: 3}}, others: []string{"b", "c"}},
		"the second step runs":     {plan: []Planned{{Step: 1}, {Step: 2}, {Step: 3}}, done: 1, others: []string{"c"}},
		"two side by side":         {plan: []Planned{{Step: 1}, {Step: 1}, {Step: 2}}, others: []string{"c"}},
		"one of the two is in":     {plan: []Planned{{Step: 1}, {Step: 1}, {Step: 2}}, done: 1, others: []string{"c"}},
		"one that never runs":      {plan: []Planned{{Step: 1}, {}, {Step: 1}}, others: []string{"b"}},
		"none that runs":           {plan: []Planned{{}, {}, {}}, others: []string{"a", "b", "c"}},
		"not asked about yet":      {plan: []Planned{{Step: 1, Asks: true}, {Step: 2}, {Step: 2}}, again: []string{"a"}, others: []string{"b", "c"}},
		"asked about":              {plan: []Planned{{Step: 1}, {Step: 2, Asks: true}, {Step: 3}}, done: 1, questions: []Question{asked("b", "x")}, again: []string{"b"}, others: []string{"c"}},
		"refused":                  {plan: []Planned{{Step: 1, Asks: true}, {Step: 2}, {Step: 3}}, questions: []Question{decided("a", false)}, again: []string{"a"}, others: []string{"b", "c"}},
		"allowed":                  {plan: []Planned{{Step: 1, Asks: true}, {Step: 2}, {Step: 3}}, questions: []Question{decided("a", true)}, others: []string{"b", "c"}},
		"the model's own question": {plan: []Planned{{Step: 1}, {Step: 2}, {Step: 3}}, questions: []Question{asked("a", "")}, again: []string{"a"}, others: []string{"b", "c"}},
		"a question without plan":  {questions: []Question{asked("b", "x")}, again: []string{"b"}, others: []string{"c"}},
	} {
		t.Run(name, func(t *testing.T) {
			calls := []ToolCall{{ID: "a", Name: "x"}, {ID: "b", Name: "x"}, {ID: "c", Name: "x"}}
			entries := []Entry{
				TurnStarted{Turn: "t"},
				UserMessage{Turn: "t", Message: Message{Role: RoleUser, Text: "go"}},
				AssistantMessage{Turn: "t", Message: Message{Role: RoleAssistant, ToolCalls: calls}, Plan: c.plan},
			}
			for _, q := range c.questions {
				entries = append(entries, q.Asked)
				if q.Decided != nil {
					q.Decided.Turn = "t"
					entries = append(entries, *q.Decided)
				}
			}
			for i, e := range entries {
				if a, ok := e.(Asked); ok {
					a.Turn = "t"
					entries[i] = a
				}
			}
			for _, call := range calls[:c.done] {
				entries = append(entries, ToolResult{Turn: "t", Message: Message{Role: RoleTool, ToolCallID: call.ID, Text: "ok"}})
			}
			s, err := Fold("k", []Record{{Revision: 1, Entries: entries}})
			if err != nil {
				t.Fatal(err)
			}
			again, others := s.Turn.Unstarted()
			if diff := cmp.Diff(c.again, ids(again)); diff != "" {
				t.Errorf("again: %s", diff)
			}
			if diff := cmp.Diff(c.others, ids(others)); diff != "" {
				t.Errorf("others: %s", diff)
			}
		})
	}
}

func ids(calls []ToolCall) (all []string) {
	for _, c := range calls {
		all = append(all, c.ID)
	}
	return all
}
