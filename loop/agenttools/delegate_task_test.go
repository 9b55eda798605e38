package agenttools_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// sleeping is a plain tool that takes its time, asks for permission if told so, and knows how many of it ran at once.
type sleeping struct {
	mu            sync.Mutex
	running, most int
	scopes        []tools.Scope
}

func (s *sleeping) tool(risk tools.Risk) []tools.Tool {
	type arguments struct {
		Text string `json:"text"`
	}
	return []tools.Tool{must(tools.New(tools.Spec{Name: "sleep", Risk: risk, Parallel: true},
		func(ctx context.Context, scope tools.Scope, a arguments) (tools.Result, error) {
			s.mu.Lock()
			s.running++
			s.most = max(s.most, s.running)
			s.scopes = append(s.scopes, scope)
			s.mu.Unlock()
			defer func() {
				s.mu.Lock()
				s.running--
				s.mu.Unlock()
			}()
			select {
			case <-time.After(time.Minute):
				return tools.Result{Text: "slept " + a.Text}, nil
			case <-ctx.Done():
				return tools.Result{}, context.Cause(ctx)
			}
		}))}
}

// models plays steps for the parent, in order, and one function for all sub-agents.
type models struct {
	mu       sync.Mutex
	parent   []modeltest.Step
	sub      modeltest.Step
	requests []loop.Request // of sub-agents
}

func (m *models) Name() string { return "scripted" }

func (m *models) Call(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
	if err := loop.CheckLedger(req.Messages); err != nil {
		return loop.Reply{}, &loop.ModelError{Class: loop.ModelBadRequest, Err: err}
	}
	m.mu.Lock()
	step := m.sub
	if strings.HasPrefix(req.System, "You are a sub-agent") {
		m.requests = append(m.requests, req)
	} else {
		step, m.parent = m.parent[0], m.parent[1:]
	}
	m.mu.Unlock()
	return step(ctx, req, onText)
}

// sleepThenSay lets a sub-agent call sleep once and then say what came of it.
func sleepThenSay(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
	if last := req.Messages[len(req.Messages)-1]; last.Role == sessions.RoleTool {
		return modeltest.Text("done: "+last.Text)(ctx, req, onText)
	}
	goal, _, _ := strings.Cut(req.Messages[0].Text, "\n")
	return modeltest.Call("sleep", fmt.Sprintf(`{"text":%q}`, goal))(ctx, req, onText)
}

// delegate plays a turn that delegates and returns the call's result.
func delegate(r *rig, ctx context.Context, m *models, arguments string) string {
	r.t.Helper()
	m.parent = []modeltest.Step{modeltest.Call("delegate_task", arguments), modeltest.Text("all done")}
	r.runner.Model = m
	r.scope.Turn = "t1"
	if err := r.write(sessions.TurnStarted{Turn: "t1", Requester: "alice", At: time.Now()},
		sessions.UserMessage{Turn: "t1", Message: sessions.Message{Role: sessions.RoleUser, Text: "the person's own words"}}); err != nil {
		r.t.Fatal(err)
	}
	r.runner.Run(ctx, loop.Turn{ID: "t1", Journal: r, Tools: r.tools, Scope: r.scope, Observe: func(e loop.Event) { r.events = append(r.events, e) }})
	for _, e := range r.entries {
		if e, ok := e.(sessions.ToolResult); ok {
			return e.Message.Text
		}
	}
	r.t.Fatal("the call has no result")
	return ""
}

func TestDelegateTasksInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sleeping{}
		r := newRig(t, must(agenttools.NewDelegation(agenttools.Delegation{MaxIterations: 5, MaxParallel: 2})),
			must(agenttools.NewTodo()), must(agenttools.NewClarify()), s.tool(tools.ReadOnly))
		m := &models{sub: sleepThenSay}
		began := time.Now()
		got := delegate(r, t.Context(), m, `{"context":"shared facts","tasks":[{"goal":"one"},{"goal":"two","context":"own facts"},{"goal":"three"}]}`)
		want := "## Task 1: one\n\ndone: slept one\n\n## Task 2: two\n\ndone: slept two\n\n## Task 3: three\n\ndone: slept three"
		if got != want {
			t.Errorf("the result is\n%s", got)
		}
		if took := time.Since(began); took != 2*time.Minute || s.most != 2 {
			t.Errorf("it took %v with %d at once", took, s.most)
		}
		for _, req := range m.requests {
			if strings.Contains(fmt.Sprint(req.Messages), "own words") {
				t.Errorf("a sub-agent sees the conversation: %v", req.Messages)
			}
			if string(req.Tools) != string(must(loop.Declare(must(tools.NewRegistry(s.tool(tools.ReadOnly)...))))) {
				t.Errorf("a sub-agent has the tools %s", req.Tools)
			}
			if first := req.Messages[0].Text; !strings.Contains(first, "shared facts") || strings.Contains(first, "own facts") != strings.HasPrefix(first, "two") {
				t.Errorf("a sub-agent is told %q", first)
			}
		}
		for _, scope := range s.scopes {
			if scope.Parent != "t1" || scope.Turn == "t1" || scope.Conversation != r.scope.Conversation || scope.Requester != "alice" {
				t.Errorf("a sub-agent's call runs in %+v", scope)
			}
		}
		nested := 0
		for _, e := range r.events {
			if e, ok := e.(loop.SubAgent); ok {
				if _, ok := e.Event.(loop.CallEnded); ok {
					nested++
				}
			}
		}
		if nested != 3 || r.s.Turn != nil || len(r.s.Messages) != 4 {
			t.Errorf("%d nested results were shown, the ledger has %d messages", nested, len(r.s.Messages))
		}
	})
}

func TestDelegationIsStoppedWithItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sleeping{}
		r := newRig(t, must(agenttools.NewDelegation(agenttools.Delegation{MaxParallel: 1})), s.tool(tools.ReadOnly))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(90*time.Second, func() { cancel(loop.ErrStopped) })
		began := time.Now()
		got := delegate(r, ctx, &models{sub: sleepThenSay}, `{"tasks":[{"goal":"one"},{"goal":"two"},{"goal":"three"}]}`)
		if took := time.Since(began); took != 90*time.Second || s.running != 0 {
			t.Errorf("it took %v, and %d calls still run", took, s.running)
		}
		for _, want := range []string{"interrupted", "done: slept one", "## Task 2: two\n\n(This task was stopped", "## Task 3: three\n\n(This task was stopped"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is missing in\n%s", want, got)
			}
		}
	})
}

func TestSubAgentsAskInTheTurnsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sleeping{}
		r := newRig(t, must(agenttools.NewDelegation(agenttools.Delegation{MaxParallel: 2})), s.tool(tools.Executes))
		a := &approver{}
		r.runner.Policy, r.runner.Approver = tools.AskByRisk{tools.Executes}, a
		r.runner.Limits.Timeout = 5 * time.Minute // less than the person takes
		if got := delegate(r, t.Context(), &models{sub: sleepThenSay}, `{"goal":"one"}`); got != "done: slept one" {
			t.Errorf("the result is %q", got)
		}
		if len(a.asked) != 1 || a.asked[0].Scope.Parent != "t1" {
			t.Errorf("asked: %+v", a.asked)
		}
	})
}

// approver says yes after ten minutes.
type approver struct{ asked []tools.Ask }

func (a *approver) Approve(ctx context.Context, ask tools.Ask) (tools.Decision, error) {
	a.asked = append(a.asked, ask)
	select {
	case <-time.After(10 * time.Minute):
		return tools.Decision{Allowed: true}, nil
	case <-ctx.Done():
		return tools.Decision{}, context.Cause(ctx)
	}
}

func TestDelegateReports(t *testing.T) {
	endless := func(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
		if req.NoTools {
			return modeltest.Text("as far as I got")(ctx, req, onText)
		}
		return modeltest.Call("nothing", fmt.Sprintf(`{"text":"%d"}`, len(req.Messages)))(ctx, req, onText)
	}
	for name, c := range map[string]struct {
		arguments string
		sub       modeltest.Step
		want      string
		failed    bool
	}{
		"budget":          {`{"goal":"x"}`, endless, "(This task was not finished; it ended by: model call budget.)\n\nas far as I got", false},
		"failure":         {`{"goal":"x"}`, modeltest.Fail(loop.ModelBadRequest, 0), "(This task failed: model failed.)", true},
		"long":            {`{"goal":"x"}`, modeltest.Text(strings.Repeat("é", 10_000)), "(The rest is left out: the answer is too long.)", false},
		"no goal":         {`{}`, nil, `"goal"`, true},
		"empty task":      {`{"tasks":[{"goal":"x"},{"goal":" "}]}`, nil, "tasks[1].goal", true},
		"both":            {`{"goal":"x","tasks":[{"goal":"x"}]}`, nil, "goal and tasks are both there", true},
		"too many":        {`{"tasks":[` + strings.Repeat(`{"goal":"x"},`, 10) + `{"goal":"x"}]}`, nil, "at most 10", true},
		"its own kind":    {`{"goal":"x","tools":["delegate_task"]}`, nil, `cannot have the tool "delegate_task". It can have: sleep.`, true},
		"no such tool":    {`{"goal":"x","tools":["sleep","fly"]}`, nil, `cannot have the tool "fly"`, true},
		"tools to choose": {`{"goal":"x","tools":["sleep"]}`, modeltest.Text("fine"), "fine", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, must(agenttools.NewDelegation(agenttools.Delegation{MaxIterations: 3, MaxParallel: 2})), (&sleeping{}).tool(tools.ReadOnly))
			if got := delegate(r, t.Context(), &models{sub: c.sub}, c.arguments); !strings.Contains(got, c.want) {
				t.Errorf("the result is %q", got)
			}
			i := slices.IndexFunc(r.entries, func(e sessions.Entry) bool { _, ok := e.(sessions.ToolResult); return ok })
			if outcome := r.entries[i].(sessions.ToolResult).Outcome; (outcome != sessions.OutcomeOK) != c.failed {
				t.Errorf("the outcome is %s", outcome)
			}
		})
	}
}
