package loop_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
)

// named is a scripted model with a name of its own.
type named struct {
	*modeltest.Model
	name string
}

func (n named) Name() string { return n.name }

func model(name string, steps ...modeltest.Step) named { return named{modeltest.New(steps...), name} }

// runOn runs a journal's open turn on a model.
func runOn(t testing.TB, j *journal, m loop.Model, r *loop.Runner) loop.Outcome {
	t.Helper()
	r.Model = m
	o := r.Run(t.Context(), loop.Turn{ID: j.s.Turn.ID, Journal: j, Tools: registry(t, echo(t)), Observe: j.observe})
	if err := loop.CheckLedger(j.s.Messages); err != nil {
		t.Errorf("ledger after the turn: %v", err)
	}
	return o
}

// fails returns n steps that fail.
func fails(class loop.ErrorClass, n int) []modeltest.Step {
	steps := make([]modeltest.Step, n)
	for i := range steps {
		steps[i] = modeltest.Fail(class, 0)
	}
	return steps
}

// TestFallback: what cannot be retried, or was retried in vain, goes to the next model.
func TestFallback(t *testing.T) {
	for name, c := range map[string]struct {
		first []modeltest.Step
		calls int
	}{
		"overloaded":      {fails(loop.ModelOverloaded, 3), 3},
		"network":         {fails(loop.ModelNetwork, 3), 3},
		"rate limit":      {fails(loop.ModelRateLimited, 3), 3},
		"too long a wait": {[]modeltest.Step{modeltest.Fail(loop.ModelRateLimited, time.Hour)}, 1},
		"auth":            {fails(loop.ModelAuth, 1), 1},
		"quota":           {fails(loop.ModelQuota, 1), 1},
		"no such model":   {fails(loop.ModelBadRequest, 1), 1},
		"empty":           {[]modeltest.Step{modeltest.Empty(), modeltest.Empty()}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := model("a", c.first...), model("b", append(fails(loop.ModelOverloaded, 2), modeltest.Text("Hi."))...)
				j := newJournal(t, "hello")
				o := runOn(t, j, loop.NewChain(loop.Link{Model: a}, loop.Link{Model: b}), &loop.Runner{})
				if o.Reason != loop.EndAnswered || o.Text != "Hi." {
					t.Errorf("outcome: %+v", o)
				}
				if n := len(a.Requests()); n != c.calls {
					t.Errorf("%d calls of the first model", n)
				}
				if all := strings.Join(*j.events, ","); strings.Count(all, "FellBack") != 1 {
					t.Errorf("events: %s", all)
				}
				by := ""
				for _, e := range j.entries {
					if m, ok := e.(sessions.AssistantMessage); ok {
						by = m.Model
					}
				}
				if by != "b" {
					t.Errorf("the log says that %q answered", by)
				}
			})
		})
	}
}

func TestNoFallbackForAFilter(t *testing.T) {
	j := newJournal(t, "hello")
	o := runOn(t, j, loop.NewChain(loop.Link{Model: model("a", fails(loop.ModelFiltered, 1)...)}, loop.Link{Model: model("b")}), &loop.Runner{})
	if o.Reason != loop.EndModelFailed || loop.ModelClass(o.Err) != loop.ModelFiltered {
		t.Errorf("outcome: %+v", o)
	}
}

// TestTooLongForOneModel: what cannot be made short enough for one model is given to the next, and the first is not passed
// over because of it.
func TestTooLongForOneModel(t *testing.T) {
	for name, compressor := range map[string]*loop.Compressor{"no compressor": nil, "nothing to compress": loop.NewCompressor(nil, 8000, 0)} {
		t.Run(name, func(t *testing.T) {
			j := newJournal(t, "hello")
			chain := loop.NewChain(loop.Link{Model: model("a", fails(loop.ModelTooLong, 2)...)}, loop.Link{Model: model("b", modeltest.Text("Hi."))})
			o := runOn(t, j, chain, &loop.Runner{Compressor: compressor})
			if o.Reason != loop.EndAnswered || o.Text != "Hi." {
				t.Errorf("outcome: %+v", o)
			}
			if chain.Name() != "a" {
				t.Errorf("the next turn begins with %s", chain.Name())
			}
		})
	}
}

// TestChainSticks: a model that was given up is passed over for a while, and tried again after it.
func TestChainSticks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := modeltest.Text("Hi.")
		a, b := model("a", append(fails(loop.ModelOverloaded, 3), answer)...), model("b", answer, answer)
		chain := loop.NewChain(loop.Link{Model: a}, loop.Link{Model: b})
		r := &loop.Runner{}
		for i, want := range []string{"a", "b", "b", "a"} {
			if i == 3 {
				time.Sleep(6 * time.Minute)
			}
			if got := chain.Name(); got != want {
				t.Errorf("before turn %d: %s, want %s", i, got, want)
			}
			if i < 3 {
				j := newJournal(t, "hello")
				if i == 2 {
					_, err := chain.Call(t.Context(), loop.Request{Messages: []sessions.Message{user("hello")}}, func(string) {})
					if err != nil {
						t.Error(err)
					}
					continue
				}
				if o := runOn(t, j, chain, r); o.Reason != loop.EndAnswered {
					t.Errorf("turn %d: %+v", i, o)
				}
			}
		}
	})
}

// TestAllModelsDown: the person hears of the last failure, and every model was asked as often as it may be.
func TestAllModelsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := model("a", fails(loop.ModelOverloaded, 3)...), model("b", fails(loop.ModelQuota, 1)...)
		j := newJournal(t, "hello")
		o := runOn(t, j, loop.NewChain(loop.Link{Model: a}, loop.Link{Model: b}), &loop.Runner{})
		if o.Reason != loop.EndModelFailed || !strings.Contains(o.Text, "quota") || len(a.Requests()) != 3 || len(b.Requests()) != 1 {
			t.Errorf("outcome: %+v", o)
		}
	})
}

// TestCredentialsAreLoadedOnce after they were refused; the new ones stay.
func TestCredentialsAreLoadedOnce(t *testing.T) {
	loads := 0
	reload := func(m loop.Model, err error) func(context.Context) (loop.Model, error) {
		return func(context.Context) (loop.Model, error) { loads++; return m, err }
	}
	fresh := model("fresh", modeltest.Text("Hi."), modeltest.Text("Hi."))
	chain := loop.NewChain(loop.Link{Model: model("old", fails(loop.ModelAuth, 1)...), Reload: reload(fresh, nil)})
	for range 2 {
		if o := runOn(t, newJournal(t, "hello"), chain, &loop.Runner{}); o.Reason != loop.EndAnswered || loads != 1 {
			t.Errorf("outcome after %d loads: %+v", loads, o)
		}
	}
	loads = 0
	chain = loop.NewChain(loop.Link{Model: model("old", fails(loop.ModelAuth, 2)...), Reload: reload(model("bad", fails(loop.ModelAuth, 1)...), nil)})
	if o := runOn(t, newJournal(t, "hello"), chain, &loop.Runner{}); o.Reason != loop.EndModelFailed || loads != 1 {
		t.Errorf("outcome after %d loads: %+v", loads, o)
	}
	loads = 0
	chain = loop.NewChain(
		loop.Link{Model: model("old", fails(loop.ModelAuth, 1)...), Reload: reload(nil, errors.New("no such file"))},
		loop.Link{Model: model("next", modeltest.Text("Hi."))})
	if o := runOn(t, newJournal(t, "hello"), chain, &loop.Runner{}); o.Reason != loop.EndAnswered || loads != 1 {
		t.Errorf("outcome after %d loads: %+v", loads, o)
	}
}

func TestChainOutsideOfTurns(t *testing.T) {
	a, b := model("a", fails(loop.ModelOverloaded, 1)...), model("b", modeltest.Text("Hi."))
	chain := loop.NewChain(loop.Link{Model: a}, loop.Link{Model: b})
	ask := loop.Request{Messages: []sessions.Message{user("hello")}}
	if reply, err := chain.Call(t.Context(), ask, func(string) {}); err != nil || reply.Message.Text != "Hi." {
		t.Errorf("%+v, %v", reply, err)
	}
	if _, err := chain.Call(t.Context(), ask, func(string) {}); err == nil {
		t.Error("a chain whose models all fail answers")
	}
}

// TestPoisonedHistory: a provider that refuses a valid history gets it once more as plain text. If that helps, the ledger
// stays so, and the next turn is not refused again; if it does not, the turn ends with a sentence and the ledger is as it
// was.
func TestPoisonedHistory(t *testing.T) {
	for _, class := range []loop.ErrorClass{loop.ModelBadRequest, loop.ModelOverloaded} {
		for _, helps := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, helps %v", class, helps), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					refusals := 1
					if class.Retryable() {
						refusals = 3
					}
					steps := append([]modeltest.Step{asks("echo", "poison")[0]}, fails(class, refusals)...)
					if helps {
						steps = append(steps, asks("echo", "more")[0], modeltest.Text("done"))
					} else {
						steps = append(steps, modeltest.Fail(class, 0))
					}
					j := newJournal(t, "the request")
					m := model("m", steps...)
					o := runOn(t, j, m, &loop.Runner{})
					flat := m.Requests()[1+refusals].Messages
					want := "the request\n\n[You called echo with {\"text\":\"poison\"}]\n\n[echo returned: poison]"
					if len(flat) != 1 || flat[0].Text != want {
						t.Errorf("simplified: %+v", flat)
					}
					if !helps {
						if o.Reason != loop.EndModelFailed || o.Text == "" || len(j.s.Messages) != 4 || len(m.Requests()) != 2+refusals {
							t.Errorf("outcome: %+v, %d messages", o, len(j.s.Messages))
						}
						return
					}
					if o.Reason != loop.EndAnswered || o.Rounds != 3 || o.Calls != 2 {
						t.Errorf("outcome: %+v", o)
					}
					if diff := cmp.Diff([]sessions.Role{"user", "assistant", "tool", "assistant"}, roles(j.s.Messages)); diff != "" {
						t.Error(diff)
					}
				})
			})
		}
	}
}

// TestCostIsLogged, at the prices of whichever model answered.
func TestCostIsLogged(t *testing.T) {
	var log bytes.Buffer
	spent := modeltest.WithUsage(sessions.Usage{Input: 1000, Output: 100}, modeltest.Text("Hi."))
	chain := loop.NewChain(
		loop.Link{Model: model("a", fails(loop.ModelQuota, 1)...), Profile: loop.Profile{InputPrice: 1000}},
		loop.Link{Model: model("b", spent), Profile: loop.Profile{InputPrice: 2, OutputPrice: 10}})
	runOn(t, newJournal(t, "hello"), chain, &loop.Runner{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if !strings.Contains(log.String(), "cost_usd=0.003") {
		t.Errorf("log:\n%s", log.String())
	}
}

func roles(messages []sessions.Message) []sessions.Role {
	var all []sessions.Role
	for _, m := range messages {
		all = append(all, m.Role)
	}
	return all
}

// TestSmallerFallback: a history that fits into the main model but not into its fallback is made smaller before that one
// is asked, and the fallback is not asked for more than it can write.
func TestSmallerFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := talk(t, 30, 1000)
		j.open("t1", "go")
		before := loop.ContextTokens(j.Session())
		main := model("main", modeltest.Fail(loop.ModelQuota, 0))
		small := model("small", modeltest.Text("done"))
		chain := loop.NewChain(loop.Link{Model: main}, loop.Link{Model: small, Profile: loop.Profile{Window: before, MaxOutput: 500}})
		r := &loop.Runner{Limits: loop.Limits{MaxOutput: 1000}, Compressor: loop.NewCompressor(nil, before*10, 0)}
		out := runOn(t, j, chain, r)
		if out.Reason != loop.EndAnswered {
			t.Fatalf("outcome %+v", out)
		}
		first, second := main.Requests()[0], small.Requests()[0]
		if len(second.Messages) >= len(first.Messages) || second.MaxOutput != 500 || first.MaxOutput != 1000 {
			t.Errorf("asked with %d and then %d messages, for %d and %d tokens", len(first.Messages), len(second.Messages), first.MaxOutput, second.MaxOutput)
		}
	})
}
