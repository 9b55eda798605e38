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

	"pgregory.net/rapid"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// TestAnyBehaviour plays random models and tools, stopped at random moments for random causes. Whatever they do, the
// turn ends by a transition of the table, once, within its limits, and leaves a valid ledger; or it is left open and
// goes on.
func TestAnyBehaviour(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(randomStep(), 1, 12).Draw(rt, "steps")
		stopAfter := rapid.SampledFrom([]time.Duration{0, 0, 500 * time.Millisecond, 3 * time.Second, 30 * time.Second, 10 * time.Minute}).Draw(rt, "stop after")
		by := rapid.SampledFrom([]error{loop.ErrStopped, loop.ErrSuperseded, loop.ErrParked, nil}).Draw(rt, "stop by")
		limits := loop.Limits{
			MaxTurns: rapid.IntRange(1, 8).Draw(rt, "rounds"), MaxToolCalls: rapid.IntRange(1, 8).Draw(rt, "calls"),
			Timeout: rapid.SampledFrom([]time.Duration{time.Second, time.Hour}).Draw(rt, "timeout"),
		}
		trouble := ""
		synctest.Test(t, func(t *testing.T) { trouble = playRandom(t, steps, limits, stopAfter, by) })
		if trouble != "" {
			rt.Fatal(trouble)
		}
	})
}

func playRandom(t *testing.T, steps []modeltest.Step, limits loop.Limits, stopAfter time.Duration, by error) string {
	var log bytes.Buffer
	r := &loop.Runner{
		Limits: limits, Policy: tools.AskByRisk{tools.Executes}, Approver: &approver{after: time.Second, decision: tools.Decision{Allowed: true}},
		Compressor: loop.NewCompressor(nil, 1000, 0), Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	reg := registry(t, randomTool(t, "ask", tools.Executes, false), randomTool(t, "write", tools.Writes, true), randomTool(t, "read", tools.ReadOnly, true))
	j := newJournal(t, "go")
	m := modeltest.New(steps...)
	r.Model = m
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if stopAfter > 0 {
		timer := time.AfterFunc(stopAfter, func() { cancel(by) })
		defer timer.Stop()
	}
	work := loop.Turn{ID: "t1", Journal: j, Tools: reg, Observe: j.observe, Scope: tools.Scope{Conversation: "k"}}
	o := r.Run(ctx, work)
	if o.Reason == "" {
		if context.Cause(ctx) == nil || j.ended != nil || j.s.Turn == nil {
			return fmt.Sprintf("left open without a reason: %+v", o)
		}
		work.Resumed = true
		o = r.Run(t.Context(), work)
	}
	r.Wait()
	switch {
	case o.Reason == "" || o.Reason == loop.EndInternal:
		return fmt.Sprintf("outcome %+v\n%s", o, log.String())
	case j.ended == nil || j.s.Turn != nil:
		return "the turn has no end in the log"
	case o.Rounds > limits.MaxTurns+1:
		return fmt.Sprintf("%d rounds of %d and one", o.Rounds, limits.MaxTurns)
	case o.Text == "" && o.Reason != loop.EndSuperseded:
		return "nothing is said"
	case strings.Contains(log.String(), "no transition"):
		return log.String()
	}
	if err := loop.CheckLedger(j.s.Messages); err != nil {
		return err.Error()
	}
	if last := (*j.events)[len(*j.events)-1]; !strings.HasPrefix(last, "Ended") {
		return "the last event is " + last
	}
	for _, req := range m.Requests() {
		if err := loop.CheckLedger(req.Messages); err != nil {
			return "a request with a broken ledger: " + err.Error()
		}
	}
	return ""
}

func randomStep() *rapid.Generator[modeltest.Step] {
	return rapid.Custom(func(t *rapid.T) modeltest.Step {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			return modeltest.Text("an answer")
		case 1:
			return modeltest.Empty()
		case 2:
			class := rapid.SampledFrom([]loop.ErrorClass{loop.ModelOverloaded, loop.ModelTooLong, loop.ModelAuth}).Draw(t, "class")
			return modeltest.Fail(class, 0)
		case 3:
			return modeltest.Block("never done")
		case 4:
			return modeltest.After(2*time.Second, modeltest.Text("a slow answer"))
		}
		reply := loop.Reply{
			Finish:  rapid.SampledFrom([]loop.Finish{loop.FinishTools, loop.FinishStop, loop.FinishLength}).Draw(t, "finish"),
			Message: sessions.Message{Role: sessions.RoleAssistant, Text: rapid.SampledFrom([]string{"", "look"}).Draw(t, "text")},
		}
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			reply.Message.ToolCalls = append(reply.Message.ToolCalls, sessions.ToolCall{
				ID:        rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "id"),
				Name:      rapid.SampledFrom([]string{"ask", "write", "read", "read", "reed", ""}).Draw(t, "name"),
				Arguments: rapid.SampledFrom([]string{`{"text":"ok"}`, `{"text":"slow"}`, `{"text":"panic"}`, `{"text":"stuck"}`, `{"text":"er`, `{}`, ``}).Draw(t, "arguments"),
			})
		}
		return modeltest.Reply(reply)
	})
}

func randomTool(t *testing.T, name string, risk tools.Risk, parallel bool) tools.Tool {
	spec := tools.Spec{Name: name, Risk: risk, Parallel: parallel, Timeout: 20 * time.Second}
	return tool(t, spec, func(ctx context.Context, text string) (tools.Result, error) {
		switch text {
		case "panic":
			panic("a tool's panic")
		case "stuck":
			time.Sleep(time.Minute) // virtual: it does not listen to its context
			return tools.Result{Text: "late"}, nil
		case "slow":
			select {
			case <-time.After(3 * time.Second):
			case <-ctx.Done():
				return tools.Result{}, errors.New("stopped")
			}
		}
		return tools.Result{Text: strings.Repeat("a line\n", 5)}, nil
	})
}
