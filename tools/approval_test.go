package tools

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestAskByRisk(t *testing.T) {
	scope := Scope{Work: "/w"}
	judged := Spec{Name: "judged", Risk: Executes, Judge: func(s Scope, raw json.RawMessage) Judgement {
		return Judgement{Verdict: Verdict(raw), Reason: s.Work, Grants: []Grant{GrantNetwork}}
	}}
	for _, c := range []struct {
		policy    Policy
		spec      Spec
		arguments string
		want      Verdict
		grants    int
	}{
		{AskByRisk{Executes}, Spec{Risk: Executes}, `{}`, AskFirst, 0},
		{AskByRisk{Executes}, Spec{Risk: Writes}, `{}`, Allow, 0},
		{AskByRisk{Executes}, judged, "allow", Allow, 1},
		{AskByRisk{}, judged, "ask", AskFirst, 1},
		{Unasked{AskByRisk{Executes}}, Spec{Risk: Executes}, `{}`, Allow, 0},
		{Unasked{AskByRisk{}}, judged, "ask", Allow, 0},
		{Unasked{AskByRisk{}}, judged, "deny", DenyAlways, 1},
	} {
		got := c.policy.Judge(scope, c.spec, json.RawMessage(c.arguments))
		if got.Verdict != c.want || len(got.Grants) != c.grants {
			t.Errorf("%T %s %s: %+v", c.policy, c.spec.Name, c.arguments, got)
		}
	}
}

// TestRule makes sure that a rule names one call and no other.
func TestRule(t *testing.T) {
	all := []string{
		Rule("terminal", "ls", "/w"), Rule("terminal", "ls", "/v"), Rule("terminal", "ls /w"), Rule("terminal", "l", "s/w"), Rule(),
		Rule("terminal", "ls", "/w", ""),
	}
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) {
		t.Errorf("%d of %d rules differ", n, len(all))
	}
	if got := Rule("a", "b"); got != "eb394fd4559b1d9c383f4359667a508a" { // it stands in logs
		t.Errorf("the rule is %s", got)
	}
}
