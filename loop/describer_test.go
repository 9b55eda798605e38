package loop_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// describes returns a tool that asks a describer about its argument.
func describes(t testing.TB, d tools.Describer) tools.Tool {
	return tool(t, tools.Spec{Name: "look", Risk: tools.ReadOnly}, func(ctx context.Context, text string) (tools.Result, error) {
		said, err := d.Describe(ctx, "What is it?", tools.Part{Text: text}, tools.Part{Image: tools.Image{Type: "image/png", Data: []byte("x")}})
		return tools.Result{Text: said}, err
	})
}

// TestDescriber: a model that is too slow is passed over, the request is as it should be, and the use is the turn's.
func TestDescriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := sessions.Usage{Input: 1000, Output: 50, Cached: 10}
		slow, quick := model("slow", modeltest.Block("")), model("quick", modeltest.WithUsage(used, modeltest.Text("a cat")))
		d := loop.NewDescriber(loop.NewChain(loop.Link{Model: slow}, loop.Link{Model: quick}), 10*time.Second)
		j := newJournal(t, "go")
		began := time.Now()
		one := sessions.Usage{Input: 7, Output: 3}
		out, m := play(t, j, &loop.Runner{}, registry(t, describes(t, d)),
			modeltest.WithUsage(one, modeltest.Call("look", `{"text":"a page"}`)), modeltest.WithUsage(one, modeltest.Text("done")))
		if m.Broken() != nil || out.Reason != loop.EndAnswered {
			t.Fatalf("outcome %+v, %v", out, m.Broken())
		}
		if got := j.results(); len(got) != 1 || got[0] != "a cat" {
			t.Errorf("results: %q", got)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("it took %v", took)
		}
		if want := one.Add(one).Add(used); out.Usage != want {
			t.Errorf("usage %+v, want %+v", out.Usage, want)
		}
		req := quick.Requests()[0]
		if text := req.Messages[0].Text; len(req.Images) != 1 || !strings.HasPrefix(text, "What is it?") || !strings.Contains(text, "a page") {
			t.Errorf("request: %+v", req)
		}
	})
}

// TestDescriberFails: a passing failure is tried again, and the model is told of any other.
func TestDescriberFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eye := model("eye", modeltest.Empty(), modeltest.Fail(loop.ModelOverloaded, 0), modeltest.Text("a dog"),
			modeltest.Fail(loop.ModelQuota, 0))
		d := loop.NewDescriber(loop.NewChain(loop.Link{Model: eye}), 0)
		j := newJournal(t, "go")
		out, _ := play(t, j, &loop.Runner{}, registry(t, describes(t, d)),
			modeltest.Call("look", `{"text":"1"}`), modeltest.Call("look", `{"text":"2"}`), modeltest.Call("look", `{"text":"3"}`),
			modeltest.Text("done"))
		got := j.results()
		if len(got) != 3 || !strings.Contains(got[0], "empty answer") || got[1] != "a dog" || !strings.Contains(got[2], "quota") {
			t.Errorf("results: %q", got)
		}
		if out.Reason != loop.EndAnswered || eye.Broken() != nil {
			t.Errorf("outcome %+v, %v", out, eye.Broken())
		}
	})
}

// TestDescriberSpendsTheBudget: what a tool lets a model read counts against the turn's ceiling, after a restart, too.
func TestDescriberSpendsTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eye := model("eye", modeltest.WithUsage(sessions.Usage{Input: 5000}, modeltest.Text("a cat")))
		d := loop.NewDescriber(loop.NewChain(loop.Link{Model: eye}), 0)
		j := newJournal(t, "go")
		r := &loop.Runner{Limits: loop.Limits{MaxTokens: 4000}}
		out, _ := play(t, j, r, registry(t, describes(t, d)), modeltest.Call("look", `{"text":"1"}`), modeltest.Text("a summary"))
		if out.Reason != loop.EndTokens {
			t.Errorf("outcome %+v", out)
		}
	})
	j := crashed(t, asked(call("a", "look", `{}`)), answered("a"), sessions.Delegated{Turn: "t1", Used: sessions.Spent{Tokens: 5000}})
	if out := resume(t, j, loop.Limits{MaxTokens: 4000}, modeltest.Text("a summary")); out.Reason != loop.EndTokens {
		t.Errorf("outcome %+v", out)
	}
}
