package modeltest_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/anthropic"
	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/loop/openai"
	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// think is a reply with reasoning in it and two calls.
func think(text string) demo.Response {
	call := demo.Call{Name: "echo", Arguments: `{"text":"x"}`}
	return demo.Response{Reasoning: "hm hm", Text: text, Calls: []demo.Call{call, call}}
}

// TestFallbackAcrossModes: a task goes from one API mode to the next in its middle, and in the next turn back to the first.
// Each server signs its reasoning with a secret of its own and refuses any other, and each cuts a reply in its thoughts.
func TestFallbackAcrossModes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var servers []*demo.Scripted
		config := func(model string, steps ...demo.Response) provider.Config {
			steps = append([]demo.Response{{Reasoning: "half a thou", Cut: true}}, steps...)
			s := demo.NewScripted(demo.Options{Delay: -1, APIKey: "k", Reasoning: demo.ReasoningSigned}, demo.Steps(steps...))
			servers = append(servers, s)
			return provider.Config{BaseURL: "http://model.test/v1", APIKey: "k", Model: model, Dial: modeltest.Serve(t, s)}
		}
		noCredit := demo.Fail(402, "Your credit balance is too low")
		first := config("claude-sonnet-4-5", think("I look."), noCredit, think(""), think("Again."), noCredit)
		first.Reasoning, first.Effort = loop.ReasoningBudget, provider.EffortLow
		second := config("gpt-5-test", think(""), noCredit, think(""), demo.Say("Done."))
		second.Reasoning, second.Effort = loop.ReasoningEffort, provider.EffortLow
		chain := loop.NewChain(link(t, anthropic.New, first), link(t, openai.NewResponses, second),
			link(t, openai.New, config("m", think("So."), demo.Say("Done."))))

		j := &ledger{&sessions.Session{Key: "k"}}
		registry := echo(t)
		declared, err := loop.Declare(registry)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"t1", "t2"} {
			user := sessions.Message{Role: sessions.RoleUser, Text: "go"}
			if err := j.Append(t.Context(), sessions.TurnStarted{Turn: id, Requester: "1"},
				sessions.PromptBuilt{System: "You are a test.", Tools: declared}, sessions.UserMessage{Turn: id, Message: user}); err != nil {
				t.Fatal(err)
			}
			o := (&loop.Runner{Model: chain, Limits: loop.Limits{RepeatThreshold: 9}}).Run(t.Context(), loop.Turn{ID: id, Journal: j, Tools: registry})
			if o.Reason != loop.EndAnswered || o.Rounds != 4 {
				t.Errorf("turn %s: %+v", id, o)
			}
			time.Sleep(2 * time.Hour) // until the first one does not rest any more
		}
		var asked []int
		for i, s := range servers {
			asked = append(asked, len(s.Requests()))
			if refused := s.Refused(); len(refused) > 0 {
				t.Errorf("server %d refused %v", i+1, refused)
			}
		}
		if !slices.Equal(asked, []int{6, 5, 3}) {
			t.Errorf("requests: %v", asked)
		}
	})
}

// link opens a model.
func link(t *testing.T, open func(provider.Config) (*provider.Model, error), config provider.Config) loop.Link {
	t.Helper()
	m, err := open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return loop.Link{Model: m}
}

func echo(t *testing.T) *tools.Registry {
	t.Helper()
	tool, err := tools.New(tools.Spec{Name: "echo", Description: "Echoes.", Risk: tools.ReadOnly, Parallel: true},
		func(_ context.Context, _ tools.Scope, a struct {
			Text string `json:"text"`
		},
		) (tools.Result, error) {
			return tools.Result{Text: a.Text}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

// ledger is a log in memory.
type ledger struct{ session *sessions.Session }

func (l *ledger) Session() *sessions.Session { return l.session }

func (l *ledger) Append(_ context.Context, entries ...sessions.Entry) error {
	return l.session.Apply(sessions.Record{Revision: l.session.Revision + 1, At: time.Now(), Entries: entries})
}

func (l *ledger) End(ctx context.Context, _ loop.Outcome, entries ...sessions.Entry) error {
	return l.Append(ctx, entries...)
}
