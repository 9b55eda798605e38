package loop

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

const (
	batchTime   = 7 * time.Minute // after which no more calls of one reply are started, without the waiting for people
	previewSize = 200

	notStartedText = "This call was not started, because the turn was interrupted."
)

// finished is a call that has its result.
type finished struct {
	call    sessions.ToolCall
	text    string
	outcome sessions.Outcome
	idle    bool // it was cut short before it began, or before a restart
	took    time.Duration
	fault   fault            // zero if all went well
	content string           // names what the tool returned, before it was shaped; empty if it did not run
	entries []sessions.Entry // to be committed with it
	aside   sessions.Spent   // by models that the tool asked
	cost    float64          // of that, in US dollars
}

// execution runs the calls of one reply, step by step. Results are committed in call order, each as soon as all before it
// are in, and all of a step before the next one begins. The goroutines that it starts have ended when it returns, but for
// a tool that ignores its context (see stragglers).
type execution struct {
	t       *turn
	calls   []prepared
	results []*finished   // by call; nil = not in yet
	written int           // how many results are committed
	broken  error         // the log did not take a result
	until   time.Duration // on the turn's clock, when no more calls are started
}

// execute runs the planned calls and commits their results. An error means that the log is lost.
func (t *turn) execute(ctx context.Context, work plan) error {
	e := &execution{t: t, calls: work.calls, results: make([]*finished, len(work.calls)), until: t.clock.used() + batchTime}
	t.health.looked(e.calls)
	from := 0
	for _, to := range work.ends {
		if e.broken == nil {
			e.runStep(ctx, from, to)
		}
		from = to
	}
	t.repeated.learnt(e.calls, e.results)
	return e.broken
}

// runStep runs the calls from..to-1 side by side and commits their results.
func (e *execution) runStep(ctx context.Context, from, to int) {
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
	case p.answer != "":
		early.outcome, early.text, early.idle = p.outcome, p.answer, true
	case ctx.Err() != nil:
		early.outcome, early.text, early.idle = sessions.OutcomeInterrupted, notStartedText, true
		if halted(ctx) == timedOut {
			early.outcome, early.text = sessions.OutcomeSkipped, timeIsUp(p.call.Name).text()
		}
	case p.outcome != "":
		early.outcome, early.text, early.fault = p.outcome, p.refusal.text(), p.fault
	case e.t.health.open(p.call.Name):
		early.outcome, early.fault = sessions.OutcomeRefused, fault{tools.FailTool, atCall}
		early.text = unavailable(p.call.Name, e.t.tools.substitute(p.spec), e.t.health.threshold).text()
	case p.effects && e.t.runner.late().any(e.t.Scope.Conversation):
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
		if parked && e.results[i].cutShort() {
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

// cutShort tells whether a call had begun, or had been asked about, and was not done.
func (f finished) cutShort() bool {
	return !f.idle && (f.outcome == sessions.OutcomeInterrupted || f.outcome == sessions.OutcomeUnknown)
}

// parking tells whether a context was cancelled in a way that leaves the turn open.
func parking(ctx context.Context) bool {
	switch context.Cause(ctx) {
	case nil, ErrStopped, ErrSuperseded, errTimeout:
		return false
	}
	return true
}

// oneLine returns a short single line of a text.
func oneLine(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	if len(line) > previewSize {
		return prefix(line, previewSize-len("…")) + "…"
	}
	return line
}
