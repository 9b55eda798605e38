package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

const (
	callTimeout = 5 * time.Minute // of a tool that names none
	batchTime   = 7 * time.Minute // after which no more calls of one reply are started, without the waiting for people
	callTries   = 3               // at a call that fails for passing reasons, the first included
	callWait    = time.Second     // before the second try, and twice as long before the next
	patience    = 5 * time.Second // how long calls that were told to stop are waited for, all together
	maxParallel = 8
	previewSize = 200

	interruptedText = "This call was interrupted before it was done."
	notStartedText  = "This call was not started, because the turn was interrupted."
)

// errDeadline is the cause with which the deadline of a single call ends it.
const errDeadline = cause("the call's time is up")

// finished is a call that has its result.
type finished struct {
	call    sessions.ToolCall
	text    string
	outcome sessions.Outcome
	took    time.Duration
	fault   fault            // zero if all went well
	content string           // names what the tool returned, before it was shaped; empty if it did not run
	entries []sessions.Entry // to be committed with it
	aside   sessions.Spent   // by models that the tool asked
	cost    float64          // of that, in US dollars
}

// execution runs the calls of one reply. Calls run in batches, one batch after the other; those of one batch run side
// by side. Results are committed in call order, each as soon as all before it are in. The goroutines that it starts
// have ended when it returns, but for a tool that ignores its context (see stragglers).
type execution struct {
	t       *turn
	calls   []prepared
	results []*finished   // by call; nil = not in yet
	written int           // how many results are committed
	broken  error         // the log did not take a result
	until   time.Duration // on the turn's clock, when no more calls are started
}

// execute runs calls and commits their results. At most budget of them run. An error means that the log is lost.
func (t *turn) execute(ctx context.Context, calls []requested, budget int) error {
	e := &execution{t: t, results: make([]*finished, len(calls)), until: t.clock.used() + batchTime}
	for i, c := range calls {
		p := t.tools.prepare(c)
		if i >= budget {
			p.refuse(sessions.OutcomeSkipped, fault{}, budgetSpent(c.Name))
		}
		e.calls = append(e.calls, p)
	}
	t.health.looked(e.calls)
	for from := 0; from < len(calls) && e.broken == nil; {
		to := e.batchEnd(from)
		e.runBatch(ctx, from, to)
		from = to
	}
	t.repeated.learnt(e.calls, e.results)
	return e.broken
}

// batchEnd returns the end of the batch that begins at a call: as many calls as may run side by side.
func (e *execution) batchEnd(from int) int {
	to := from + 1
	for to < len(e.calls) && to-from < maxParallel {
		for _, before := range e.calls[from:to] {
			if !before.beside(e.calls[to]) {
				return to
			}
		}
		to++
	}
	return to
}

// runBatch runs the calls from..to-1 side by side and commits their results.
func (e *execution) runBatch(ctx context.Context, from, to int) {
	type arrival struct {
		index  int
		result finished
	}
	arrivals := make(chan arrival, to-from)
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for i := from; i < to; i++ {
		p := e.calls[i]
		if early, over := e.admit(ctx, p); over {
			arrivals <- arrival{i, early}
			continue
		}
		e.t.emit(CallStarted{CallID: p.call.ID, Tool: p.call.Name, Preview: oneLine(p.preview)})
		running.Go(func() { arrivals <- arrival{i, e.attend(ctx, p)} })
	}
	for range to - from {
		a := <-arrivals
		e.results[a.index] = &a.result
		e.t.health.saw(a.result)
		e.t.changes.saw(e.calls[a.index].spec, e.calls[a.index].paths, a.result)
		if len(arrivals) == 0 {
			if e.commit(ctx); e.broken != nil {
				cancel()
			}
		}
	}
}

// admit decides whether a call may run; if not, its result is there already. It may ask a person.
func (e *execution) admit(ctx context.Context, p prepared) (early finished, over bool) {
	over = true
	early = finished{call: p.call}
	switch {
	case ctx.Err() != nil:
		early.outcome, early.text = sessions.OutcomeInterrupted, notStartedText
		if halted(ctx) == timedOut {
			early.outcome, early.text = sessions.OutcomeSkipped, timeIsUp(p.call.Name).text()
		}
	case p.outcome != "":
		early.outcome, early.text, early.fault = p.outcome, p.refusal.text(), p.fault
	case e.t.health.open(p.call.Name):
		early.outcome, early.fault = sessions.OutcomeRefused, fault{tools.FailTool, atCall}
		early.text = unavailable(p.call.Name, e.t.tools.substitute(p.spec), e.t.health.threshold).text()
	case p.effects && e.t.runner.stragglers.any(e.t.Scope.Conversation):
		early.outcome, early.text = sessions.OutcomeRefused, stillRunning(p.call.Name).text()
	case e.t.clock.used() >= e.until:
		early.outcome, early.text = sessions.OutcomeSkipped, batchOver(p.call.Name).text()
		early.fault = fault{tools.FailTimeout, atCall}
	case p.judged.Verdict == tools.AskFirst:
		early, over = e.ask(ctx, p)
	default:
		over = false
	}
	return early, over
}

// commit writes the results that have all before them, in call order, and tells the observer. When the turn is being
// parked, what did not finish stays open in the log: the next start closes it as unknown.
func (e *execution) commit(ctx context.Context) {
	if e.broken != nil {
		return
	}
	parked := parking(ctx)
	var ready []finished
	for i := e.written; i < len(e.results) && e.results[i] != nil; i++ {
		if parked && cutShort(e.results[i].outcome) {
			break
		}
		ready = append(ready, *e.results[i])
	}
	if len(ready) == 0 {
		return
	}
	if e.broken = e.t.commitResults(ctx, ready); e.broken != nil {
		e.t.log.Error("results not written", "calls", len(ready), "stage", atWriteBack, "err", e.broken)
		return
	}
	e.written += len(ready)
	for _, f := range ready {
		if f.fault != (fault{}) {
			e.t.log.Info("call failed", "call", f.call.ID, "tool", f.call.Name, "class", f.fault.class, "stage", f.fault.stage,
				"outcome", f.outcome, "took", f.took)
		} else {
			e.t.log.Debug("call ended", "call", f.call.ID, "tool", f.call.Name, "outcome", f.outcome, "took", f.took)
		}
		for _, entry := range f.entries {
			e.t.emit(Changed{CallID: f.call.ID, Entry: entry})
		}
		e.t.emit(CallEnded{
			CallID: f.call.ID, Tool: f.call.Name, Outcome: f.outcome, Class: f.fault.class, Stage: string(f.fault.stage), Took: f.took,
		})
	}
}

func cutShort(o sessions.Outcome) bool {
	return o == sessions.OutcomeInterrupted || o == sessions.OutcomeUnknown
}

// parking tells whether a context was cancelled in a way that leaves the turn open.
func parking(ctx context.Context) bool {
	switch context.Cause(ctx) {
	case nil, ErrStopped, ErrSuperseded, errTimeout:
		return false
	}
	return true
}

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
	returned := make(chan Returned, 1)
	t.runner.stragglers.wait.Go(func() {
		c := t.Tape.Tool(ctx, t.lane, p.call, func() Returned { return t.hooked(ctx, p, scope, &over) })
		if over.CompareAndSwap(false, true) {
			returned <- c
			return
		}
		t.runner.stragglers.remove(scope.Conversation)
		t.log.Warn("late result dropped", "call", p.call.ID, "tool", p.call.Name, "took", time.Since(began))
	})
	c, ok := awaitCall(ctx, returned)
	if !ok {
		t.runner.stragglers.add(scope.Conversation)
		if over.CompareAndSwap(false, true) {
			t.log.Warn("call does not stop", "call", p.call.ID, "tool", p.call.Name)
			f := fault{tools.FailTimeout, atExecution}
			return finished{
				call: p.call, text: mayComplete(p.call.Name), outcome: sessions.OutcomeUnknown, took: time.Since(began), fault: f,
			}
		}
		t.runner.stragglers.remove(scope.Conversation)
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

// class says what a call that did not come to a good end failed of.
func (c Returned) class(outcome sessions.Outcome, risk tools.Risk) tools.Failure {
	switch {
	case outcome == sessions.OutcomeTimedOut:
		return tools.FailTimeout
	case c.Err != nil:
		class, _ := tools.Classify(c.Err, risk)
		return class
	case c.Result.Class != "":
		return c.Result.Class
	}
	return tools.FailTool
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

// judge turns what a tool returned into an outcome and the text for the ledger. A call that finished in spite of a
// cancel counts as what it is.
func (c Returned) judge(cancelCause error, p prepared, scope tools.Scope, limits Limits) (sessions.Outcome, string) {
	text := c.Result.Text
	switch {
	case c.Err == nil && !c.Result.Failed:
		return sessions.OutcomeOK, c.text(p.spec, scope, limits)
	case cancelCause != nil:
		outcome, why := sessions.OutcomeInterrupted, interruptedText
		if errors.Is(cancelCause, errDeadline) || errors.Is(cancelCause, errTimeout) {
			outcome, why = sessions.OutcomeTimedOut, "This call was stopped because its time was up."
		}
		if strings.TrimSpace(text) != "" {
			why += "\n" + c.text(p.spec, scope, limits)
		}
		return outcome, why
	case c.Err != nil:
		text := fmt.Sprintf("The tool could not run: %s", prefix(c.Err.Error(), 500))
		if c.Tries > 1 {
			text += fmt.Sprintf(" (tried %d times)", c.Tries)
		}
		return sessions.OutcomeFailed, text
	}
	return sessions.OutcomeFailed, c.text(p.spec, scope, limits)
}

// text is the result as it goes into the ledger.
func (c Returned) text(spec tools.Spec, scope tools.Scope, limits Limits) string {
	text := shape(c.Result, spec, scope, limits)
	if spec.Untrusted {
		text = fromOutside(spec.Name, text)
	}
	if c.Note != "" {
		text += "\n\nThe operator's rules say: " + c.Note
	}
	return text
}

// oneLine returns a short single line of a text.
func oneLine(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	if len(line) > previewSize {
		return prefix(line, previewSize-len("…")) + "…"
	}
	return line
}
