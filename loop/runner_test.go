package loop_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPlainAnswer(t *testing.T) {
	j := newJournal(t, "hello")
	o, _ := play(t, j, &loop.Runner{}, registry(t), modeltest.Text("Hi."))
	if o.Reason != loop.EndAnswered || o.Text != "Hi." || o.Rounds != 1 || o.Usage.Output == 0 {
		t.Errorf("outcome: %+v", o)
	}
	want := []sessions.Message{{Role: sessions.RoleUser, Text: "hello"}, {Role: sessions.RoleAssistant, Text: "Hi."}}
	if diff := cmp.Diff(want, j.s.Messages); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"RoundStarted 1", "ModelReturned", "Replied", "Ended answered"}, *j.events); diff != "" {
		t.Error(diff)
	}
}

func TestToolsThenAnswer(t *testing.T) {
	j := newJournal(t, "say a and b")
	o, m := play(t, j, &loop.Runner{}, registry(t, echo(t)),
		modeltest.Calls("Both.",
			sessions.ToolCall{ID: "a", Name: "echo", Arguments: `{"text":"A"}`},
			sessions.ToolCall{ID: "b", Name: "echo", Arguments: `{"text":"B"}`}),
		modeltest.Text("A and B."))
	if o.Reason != loop.EndAnswered || o.Rounds != 2 || o.Calls != 2 {
		t.Errorf("outcome: %+v", o)
	}
	if diff := cmp.Diff([]string{"A", "B"}, j.results()); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"RoundStarted 1", "ModelReturned", "Replied", "CallStarted a", "CallStarted b", "CallEnded a ok", "CallEnded b ok",
		"RoundStarted 2", "ModelReturned", "Replied", "Ended answered",
	}
	if diff := cmp.Diff(want, *j.events); diff != "" {
		t.Error(diff)
	}
	if n := len(m.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
}
