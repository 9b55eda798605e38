package loop_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
)

// TestSteer: what people say while tools run stands in the log before the next model call, which sees it; a turn that ends
// without another step asks for nothing.
func TestSteer(t *testing.T) {
	j := newJournal(t, "go")
	said, asked := []string{"rather so"}, 0
	m := modeltest.New(modeltest.Calls("", call("a", "echo", `{"text":"1"}`)), modeltest.Text("done"))
	r := &loop.Runner{Model: m}
	o := r.Run(t.Context(), loop.Turn{
		ID: "t1", Journal: j, Tools: registry(t, echo(t)),
		Steer: func() (sessions.Steered, bool) {
			if asked++; len(said) == 0 {
				return sessions.Steered{}, false
			}
			m := sessions.Message{Role: sessions.RoleUser, Text: said[0]}
			said = said[1:]
			return sessions.Steered{Turn: "t1", Inputs: []sessions.ItemID{"i2"}, Message: m}, true
		},
	})
	if o.Reason != loop.EndAnswered || asked != 1 {
		t.Errorf("asked %d times; outcome: %+v", asked, o)
	}
	seen := m.Requests()[1].Messages
	if last := seen[len(seen)-1]; last.Text != "rather so" || m.Broken() != nil {
		t.Errorf("the model saw %+v", seen)
	}
	if d := cmp.Diff([]sessions.ItemID{"i2"}, j.s.Answered); d != "" {
		t.Errorf("answered: %s", d)
	}
}
