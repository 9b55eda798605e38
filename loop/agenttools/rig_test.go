package agenttools_test

import (
	"context"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// rig is a conversation in memory whose turns are played by scripts.
type rig struct {
	t       *testing.T
	s       *sessions.Session
	tools   *tools.Registry
	runner  *loop.Runner
	scope   tools.Scope
	entries []sessions.Entry
	events  []loop.Event
	turns   int
}

func newRig(t *testing.T, sets ...[]tools.Tool) *rig {
	t.Helper()
	var all []tools.Tool
	for _, set := range sets {
		all = append(all, set...)
	}
	registry, err := tools.NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{
		t: t, s: &sessions.Session{Key: "p/a/dm/1"}, tools: registry, runner: &loop.Runner{},
		scope: tools.Scope{Conversation: "p/a/dm/1", Chat: "p/a/dm/1", Requester: "alice", Work: t.TempDir()},
	}
}

// must returns what a constructor made.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (r *rig) write(entries ...sessions.Entry) error {
	data, err := sessions.Record{At: time.Now(), Entries: entries}.Encode()
	if err != nil {
		return err
	}
	record, err := sessions.DecodeRecord(data, r.s.Revision+1)
	if err != nil {
		return err
	}
	r.entries = append(r.entries, record.Entries...)
	return r.s.Apply(record)
}

func (r *rig) Session() *sessions.Session { return r.s }

func (r *rig) Append(_ context.Context, entries ...sessions.Entry) error { return r.write(entries...) }

func (r *rig) End(_ context.Context, _ loop.Outcome, entries ...sessions.Entry) error {
	return r.write(entries...)
}

// turn plays a turn that asks for the given calls, one after the other, and returns their results.
func (r *rig) turn(calls ...modeltest.Step) []string {
	r.t.Helper()
	return r.play(r.t.Context(), append(calls, modeltest.Text("done"))...)
}

// play plays a turn on these steps.
func (r *rig) play(ctx context.Context, steps ...modeltest.Step) (results []string) {
	r.t.Helper()
	r.turns++
	r.scope.Turn = "t" + string(rune('0'+r.turns))
	if err := r.write(
		sessions.TurnStarted{Turn: r.scope.Turn, Requester: r.scope.Requester, At: time.Now()},
		sessions.UserMessage{Turn: r.scope.Turn, Message: sessions.Message{Role: sessions.RoleUser, Text: "go"}},
	); err != nil {
		r.t.Fatal(err)
	}
	from := len(r.entries)
	model := modeltest.New(steps...)
	r.runner.Model = model
	r.runner.Run(ctx, loop.Turn{
		ID: r.scope.Turn, Journal: r, Tools: r.tools, Scope: r.scope,
		Observe: func(e loop.Event) { r.events = append(r.events, e) },
	})
	if err := model.Broken(); err != nil {
		r.t.Errorf("the model refused: %v", err)
	}
	for _, e := range r.entries[from:] {
		if e, ok := e.(sessions.ToolResult); ok {
			results = append(results, e.Message.Text)
		}
	}
	return results
}

// noting plays a step and keeps the hint of its request.
func noting(hint *string, then modeltest.Step) modeltest.Step {
	return func(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
		*hint = req.Hint
		return then(ctx, req, onText)
	}
}
