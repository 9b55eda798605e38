package agenttools_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/tools"
)

// answerer is asked and answers.
type answerer struct {
	asked  []tools.Question
	answer tools.Answer
}

func (p *answerer) Ask(_ context.Context, q tools.Question) (tools.Answer, error) {
	q.Scope.Tell = nil // no function equals another
	p.asked = append(p.asked, q)
	return p.answer, nil
}

func TestClarify(t *testing.T) {
	for name, c := range map[string]struct {
		arguments string
		answer    tools.Answer
		choices   []string
		want      string
	}{
		"choices":  {`{"question":" Which? ","choices":["a\nb","c"]}`, tools.Answer{Text: "a b"}, []string{"a b", "c"}, "The person answered: a b"},
		"open":     {`{"question":"Which?"}`, tools.Answer{Text: "another"}, nil, "The person answered: another"},
		"declined": {`{"question":"Which?"}`, tools.Answer{Note: "the person declined to answer"}, nil, "the person declined to answer. Do not ask again."},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, must(agenttools.NewClarify()))
			p := &answerer{answer: c.answer}
			r.runner.Asker = p
			if got := r.turn(modeltest.Call("clarify", c.arguments)); !strings.Contains(got[0], c.want) {
				t.Errorf("the result is %q", got)
			}
			scope := r.scope
			scope.CallID = "c1"
			if d := cmp.Diff([]tools.Question{{Scope: scope, Text: "Which?", Choices: c.choices}}, p.asked); d != "" {
				t.Error(d)
			}
		})
	}
	for name, c := range map[string]struct{ arguments, want string }{
		"nothing asked":    {`{"question":" "}`, "0 characters"},
		"too many choices": {`{"question":"x","choices":["1","2","3","4","5"]}`, "at most four"},
		"empty choice":     {`{"question":"x","choices":["1",""]}`, "choices[1]"},
		"nobody":           {`{"question":"x"}`, "nobody can be asked here"},
	} {
		r := newRig(t, must(agenttools.NewClarify()))
		if got := r.turn(modeltest.Call("clarify", c.arguments)); !strings.Contains(got[0], c.want) {
			t.Errorf("%s: the result is %q", name, got)
		}
	}
}
