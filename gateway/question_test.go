package gateway

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// TestAnswersMean: the number of a choice is the choice, anything else is the person's own words, and a permission
// reaches no further than was offered.
func TestAnswersMean(t *testing.T) {
	two := sessions.Question{Asked: sessions.Asked{Choices: []string{"a", "b"}}}
	once, session := sessions.Question{}, sessions.Question{Asked: sessions.Asked{Rule: "r"}}
	declined := sessions.Decided{Note: "the person declined to answer"}
	for name, c := range map[string]struct{ got, want sessions.Decided }{
		"a button":           {picked(two, 2), sessions.Decided{Answer: "b"}},
		"skip":               {picked(two, 0), declined},
		"a button too many":  {picked(two, 3), declined},
		"a number":           {choice(two, "1"), sessions.Decided{Answer: "a"}},
		"no choice's number": {choice(two, "3"), sessions.Decided{Answer: "3"}},
		"own words":          {choice(two, "both"), sessions.Decided{Answer: "both"}},
		"always, once only":  {allowed(once, tools.Always), sessions.Decided{Allowed: true, Extent: "once"}},
		"always, fleeting":   {allowed(session, tools.Always), sessions.Decided{Allowed: true, Extent: "session"}},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
