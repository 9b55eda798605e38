package loop

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

const (
	callTimeout = 5 * time.Minute // of a tool that names none
	callTries   = 3               // at a call that fails for passing reasons, the first included
	callWait    = time.Second     // before the second try, and twice as long before the next
	patience    = 5 * time.Second // how long calls that were told to stop are waited for, all together
)

// errDeadline is the cause with which the deadline of a single call ends it.
const errDeadline = cause("the call's time is up")

// attend runs one call under its deadline and always returns, at the latest when patience is over after the context
// has ended.
func (e *execution) attend(ctx context.Context, p prepared) finished {
	t, began := e.t, time.Now()
	limit := p.spec.Timeout
	if limit <= 0 {
		limit = callTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errDeadline)
	defer cancel()
	scope := t.Scope
	scope.CallID = p.call.ID
	if p.judged.Verdict == tools.AskFirst { // it was allowed, or it would not be here
		scope.Grants = p.judged.Grants
	}

	var over atomic.Bool // set by whoever comes first: the tool that returns, or the patience that ends
	scope.Tell = func(text string) {
		if !over.Load() {
			t.emit(CallSaid{CallID: p.call.ID, Tool: p.call.Name, Text: text})
		}
	}
	returned := make(chan Returned, 1)
	t.runner.late().wait.Go(func() {
		c := t.Tape.Tool(ctx, t.lane, p.call, func() Returned { return t.hooked(ctx, p, scope, &over) })
		if over.CompareAndSwap(false, true) {
			returned <- c
			return
		}
		t.runner.late().remove(scope.Conversation)
		t.log.Warn("late result dropped", "call", p.call.ID, "tool", p.call.Name, "took", time.Since(began))
	})
	c, ok := awaitCall(ctx, returned)
	if !ok {
		t.runner.late().add(scope.Conversation)
		if over.CompareAndSwap(false, true) {
			t.log.Warn("call does not stop", "call", p.call.ID, "tool", p.call.Name)
			f := fault{tools.FailTimeout, atExecution}
			return finished{
				call: p.call, text: mayComplete(p.call.Name), outcome: sessions.OutcomeUnknown, took: time.Since(began), fault: f,
			}
		}
		t.runner.late().remove(scope.Conversation)
		c = <-returned
	}
	outcome, text := c.judge(context.Cause(ctx), p, scope, t.limits)
	f := fault{}
	if outcome != sessions.OutcomeOK && outcome != sessions.OutcomeInterrupted {
		f = fault{c.class(outcome, p.spec.Risk), atExecution}
	}
	return finished{
		call: p.call, text: text, outcome: outcome, took: time.Since(began), fault: f,
		content: fingerprintOf(p.call.Name, c.Result.Text), entries: kept(c.Entries, outcome), aside: c.Aside, cost: c.Cost,
	}
}

// awaitCall waits for a call to return, and when its context has ended for patience more.
func awaitCall(ctx context.Context, returned <-chan Returned) (c Returned, ok bool) {
	select {
	case c = <-returned:
		return c, true
	case <-ctx.Done():
	}
	select {
	case c = <-returned:
		return c, true
	case <-time.After(patience):
		return Returned{}, false
	}
}

// callUntilItWorks calls a tool again if it failed for a reason that passes by itself, as long as its time lasts.
func (t *turn) callUntilItWorks(ctx context.Context, p prepared, scope tools.Scope, over *atomic.Bool) Returned {
	ctx, meter := metered(ctx)
	for try := 1; ; try++ {
		c := t.call(ctx, p, scope, over)
		c.Tries = try
		c.Aside, c.Cost = meter.read()
		if c.Err == nil || ctx.Err() != nil || try == callTries {
			return c
		}
		class, again := tools.Classify(c.Err, p.spec.Risk)
		if !again {
			return c
		}
		wait := callWait << (try - 1)
		var said *tools.Trouble
		if errors.As(c.Err, &said) && said.Wait > 0 {
			wait = said.Wait
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
			return c
		}
		t.log.Info("calling the tool again", "call", p.call.ID, "tool", p.call.Name, "class", class, "stage", atExecution,
			"try", try, "wait", wait, "err", c.Err)
		if pause(ctx, wait); ctx.Err() != nil {
			return c
		}
	}
}

// call calls the tool. A panic is a failed result.
func (t *turn) call(ctx context.Context, p prepared, scope tools.Scope, over *atomic.Bool) (c Returned) {
	defer func() {
		if r := recover(); r != nil {
			t.log.Error("panic in tool", "tool", p.call.Name, "panic", r, "stack", string(debug.Stack()))
			c = Returned{Result: tools.Failf("The tool crashed: %v. Try another way.", r)}
		}
	}()
	arguments := json.RawMessage(p.call.Arguments)
	if tool, ok := p.tool.(SessionTool); ok {
		c.Result, c.Entries, c.Err = tool.CallSession(ctx, SessionCall{scope, t.Journal.Session(), t, over}, arguments)
		return c
	}
	c.Result, c.Err = p.tool.Call(ctx, scope, arguments)
	return c
}
