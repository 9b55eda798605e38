package loop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
)

// noting is a reply with calls that note texts down.
func noting(texts ...string) modeltest.Step {
	return func(context.Context, loop.Request, func(string)) (loop.Reply, error) {
		m := sessions.Message{Role: sessions.RoleAssistant}
		for i, text := range texts {
			m.ToolCalls = append(m.ToolCalls, sessions.ToolCall{ID: fmt.Sprint("c", i), Name: "note_down", Arguments: fmt.Sprintf(`{"text":%q}`, text)})
		}
		return loop.Reply{Message: m, Finish: loop.FinishTools}, nil
	}
}

// copying notes down the text between the last quotation marks that it was told.
func copying(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
	told := strings.Split(req.Messages[0].Text, `"`)
	return noting(told[len(told)-2])(ctx, req, onText)
}

func saying(text string) modeltest.Step {
	return func(context.Context, loop.Request, func(string)) (loop.Reply, error) {
		return loop.Reply{Message: sessions.Message{Role: sessions.RoleAssistant, Text: text}, Finish: loop.FinishStop}, nil
	}
}

func failing(class loop.ErrorClass) modeltest.Step {
	return func(context.Context, loop.Request, func(string)) (loop.Reply, error) {
		return loop.Reply{}, &loop.ModelError{Class: class, Err: errors.New("refused")}
	}
}

func silent(ctx context.Context, _ loop.Request, _ func(string)) (loop.Reply, error) {
	<-ctx.Done()
	return loop.Reply{}, context.Cause(ctx)
}

func TestProbe(t *testing.T) {
	for name, test := range map[string]struct {
		steps []modeltest.Step
		want  []string // what is wrong with each probe; empty = nothing
	}{
		"a good model":       {[]modeltest.Step{noting("Oslo"), noting("Oslo", "Rome"), saying("done"), copying}, []string{"", "", "", ""}},
		"no tools":           {[]modeltest.Step{saying("Oslo!"), saying("x"), saying("done"), saying("x")}, []string{"in words", "made 0", "", "in words"}},
		"one call at a time": {[]modeltest.Step{noting("Oslo"), noting("Oslo"), saying("done"), copying}, []string{"", "made 1", "", ""}},
		"mixed-up calls":     {[]modeltest.Step{noting("Oslo"), noting("Rome", "Rome"), saying("done"), copying}, []string{"", "each other's", "", ""}},
		"dumb after nothing": {[]modeltest.Step{noting("Oslo"), noting("Oslo", "Rome"), saying(" "), copying}, []string{"", "", "nothing any more", ""}},
		"cut arguments":      {[]modeltest.Step{noting("Oslo"), noting("Oslo", "Rome"), saying("done"), noting("100 101")}, []string{"", "", "", "did not arrive"}},
		"a refused history":  {[]modeltest.Step{noting("Oslo"), noting("Oslo", "Rome"), failing(loop.ModelBadRequest), copying}, []string{"", "", "bad request", ""}},
		"a wrong key":        {[]modeltest.Step{failing(loop.ModelAuth)}, []string{"auth"}},
		"silence":            {[]modeltest.Step{silent, noting("Oslo", "Rome"), silent, copying}, []string{"no answer within 1m0s", "", "no answer within", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				found := loop.Probe(t.Context(), modeltest.New(test.steps...), time.Minute)
				if len(found) != len(test.want) {
					t.Fatalf("%d probes, want %d: %+v", len(found), len(test.want), found)
				}
				for i, p := range found {
					if got := fmt.Sprint(p.Err); test.want[i] == "" && p.Err != nil || !strings.Contains(got, test.want[i]) {
						t.Errorf("%s: %v, want %q", p.What, p.Err, test.want[i])
					}
					if p.Minor != strings.HasPrefix(test.want[i], "made ") {
						t.Errorf("%s: minor is %v", p.What, p.Minor)
					}
				}
			})
		})
	}
}
