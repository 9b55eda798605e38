package loop

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

const (
	graceTime  = 2 * time.Minute // for the one call that sums up after an end condition
	maxCrashes = 3               // after so many a turn is closed: it may be what kills the process
)

// turn is the scheduling layer: the state of one running turn. It belongs to the goroutine that called Run.
type turn struct {
	Turn
	runner *Runner
	limits Limits
	log    *slog.Logger
	tools  *toolset
	health *health
	route  *route // along the chain of models

	tree    *tree      // what it shares with its sub-agents, or with the turn that it works for
	telling sync.Mutex // held while the observer is told something

	clock    *clock
	ratio    calibration // of this session's tokens, see calibrate
	budget   budget
	repeated repetition
	usage    sessions.Usage
	cost     cost // since the process took the turn up

	reply          reply          // of the last model call
	planned        plan           // of its calls
	err            error          // of the last model call
	tries          int            // failed tries of the current model call
	empties        int            // empty replies to the current model call
	nudge          string         // what the next model call is told, see holdBack; empty = nothing
	nudged         map[Nudge]bool // which nudges there have been
	draft          *reply         // the answer that was held back, as long as no tool has run since
	verified       verified       // how much of the ledger is known to be valid
	changes        changes        // that nothing has verified
	flattened      flattening     // how far the history was simplified
	tidied         int            // the round before which the history was made smaller last
	incompressible bool           // summarising was tried in this turn, and cannot help
	compressed     bool           // the context was too long once and has been compressed
	repaired       bool           // the ledger had to be repaired, and the log says so

	ending  EndReason // the end condition that was found; empty = none yet, otherwise only the grace call is left
	outcome Outcome
	said    bool  // the model wrote the outcome's text
	left    error // why the turn is left open; nil = it will be ended
}

func newTurn(r *Runner, work Turn) *turn {
	log := work.Log
	if log == nil {
		log = r.Log
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if work.Scope.Turn == "" {
		work.Scope.Turn = work.ID
	}
	if work.Tape == nil {
		work.Tape = straight{}
	}
	limits := r.Limits.orDefaults()
	if work.MaxTurns > 0 {
		limits.MaxTurns = min(limits.MaxTurns, work.MaxTurns)
	}
	t := &turn{
		Turn: work, runner: r, limits: limits, log: log.With("task", work.ID),
		tools: newToolset(work, r.Policy), route: chainOf(r.Model).start(),
		nudged: map[Nudge]bool{}, changes: changes{},
	}
	t.health = newHealth(limits, func(tool string) { t.emit(CircuitOpened{Tool: tool}) })
	return t
}

// run moves from state to state until the turn is done, then closes it.
func (t *turn) run(ctx context.Context) Outcome {
	var bounded context.Context
	t.clock, bounded = newClock(ctx, t.limits.Timeout)
	defer t.clock.stop()
	if t.tree == nil {
		t.tree = &tree{limits: t.limits, clock: t.clock}
	} else {
		t.clock.parent = t.tree.clock
	}
	t.log.Info("turn started", "resumed", t.Resumed)
	t.drive(ctx, bounded, t.step)
	return t.finish(ctx)
}

// drive moves from state to state until the turn is done: step does the work of one and says what came of it, and the table
// says which is next.
func (t *turn) drive(ctx, bounded context.Context, step func(context.Context, State) signal) {
	state := Idle
	for state != Done {
		within := bounded
		if t.ending != "" { // the grace call has a deadline of its own
			within = ctx
		}
		on := step(within, state)
		to, err := next(t, state, on)
		if err != nil {
			t.fail(err)
		}
		t.logTransition(ctx, state, on, to)
		t.Tape.Moved(t.lane, state, string(on), to)
		state = to
	}
}

// step does the work of one state. A panic in it ends the turn, not the process.
func (t *turn) step(ctx context.Context, state State) (on signal) {
	defer func() {
		if p := recover(); p != nil {
			t.log.Error("panic in the loop", "state", state, "panic", p, "stack", string(debug.Stack()))
			on = t.fail(fmt.Errorf("panic while %s: %v", state, p))
		}
	}()
	switch state {
	case Idle:
		return t.idle(ctx)
	case Thinking:
		return t.think(ctx)
	case Acting:
		return t.act(ctx)
	case Observing:
		return t.observe(ctx)
	case Recovering:
		return t.recover(ctx)
	}
	return t.fail(fmt.Errorf("no such state: %s", state))
}

// idle takes up the turn: it closes what a crash left open and counts what was used before.
func (t *turn) idle(ctx context.Context) signal {
	s := t.Journal.Session()
	if s.Turn == nil || s.Turn.ID != t.ID {
		return t.leave(fmt.Errorf("turn %s is not open in the log", t.ID))
	}
	if t.Resumed || len(s.Turn.Open) > 0 {
		if err := t.commitResumed(ctx); err != nil {
			return t.leave(err)
		}
		s = t.Journal.Session()
	}
	t.ratio = calibrate(s)
	t.budget, t.usage = budget{}, s.Turn.Usage.Add(s.Turn.Delegated.Usage)
	t.spend(seedBudget(s, t.ratio))
	t.tree.spend(budget{s.Turn.Delegated.Rounds, s.Turn.Delegated.Calls, s.Turn.Delegated.Tokens})
	own := s.Messages[min(s.Turn.From, len(s.Messages)):]
	for _, m := range own {
		if len(m.ToolCalls) > 0 {
			t.repeated.saw(m.ToolCalls)
			t.changes.recall(t.tools, m.ToolCalls)
		}
	}
	last := sessions.Message{}
	if len(own) > 0 {
		last = own[len(own)-1]
	}
	switch {
	case last.Role == sessions.RoleAssistant && len(last.ToolCalls) == 0:
		t.outcome = Outcome{Reason: EndAnswered, Text: last.Text, Said: true}
		return wasDone
	case s.Turn.Resumed >= maxCrashes:
		t.outcome = Outcome{Reason: EndCrashed, Err: fmt.Errorf("the process crashed %d times in this turn", s.Turn.Resumed)}
		return wasDone
	case len(s.Turn.Open) > 0:
		return askedAgain
	case last.Role == sessions.RoleTool:
		return observed
	}
	return begun
}

// think makes one model call and understands its reply.
func (t *turn) think(ctx context.Context) signal {
	if on := halted(ctx); on != "" {
		return on
	}
	if on := t.tidy(ctx); on != "" {
		return on
	}
	if on := halted(ctx); on != "" {
		return on
	}
	t.reply, t.err = t.infer(ctx)
	if t.err != nil {
		if on := halted(ctx); on != "" {
			return on
		}
		if t.outcome.Reason == EndInternal {
			return lost
		}
		return failed
	}
	t.usage = t.usage.Add(t.reply.usage)
	t.cost = t.cost.plus(costOf(t.reply.usage, t.route.profile()))
	if t.reply.blank() {
		return saidNone
	}
	if t.flattened == flatForCall { // it helped, so the history is kept that way
		if err := t.commitFlattened(ctx); err != nil {
			return t.leave(err)
		}
	}
	t.tries, t.empties, t.nudge = 0, 0, ""
	t.spend(budget{rounds: 1, tokens: t.outputTokens()})
	if len(t.reply.calls) == 0 {
		t.replied()
		if t.holdBack() {
			return heldBack
		}
		t.outcome = t.answer()
		return saidText
	}
	t.planned = t.plan(t.reply.calls, min(t.limits.MaxToolCalls-t.budget.calls, t.tree.callsLeft()))
	if err := t.commitReply(ctx); err != nil {
		return t.leave(err)
	}
	t.replied()
	return askedTools
}

// replied tells the observer about a complete reply.
func (t *turn) replied() {
	t.emit(Replied{
		Round: t.budget.rounds, Text: t.reply.message.Text, Calls: len(t.reply.calls), Usage: t.reply.usage,
	})
}

// outputTokens returns how much the last reply adds to the turn.
func (t *turn) outputTokens() int {
	if t.reply.usage.Output > 0 {
		return t.reply.usage.Output
	}
	return estimate(t.reply.message)
}

// act runs the tool calls of the last reply. Those of before a restart have been counted.
func (t *turn) act(ctx context.Context) signal {
	t.draft = nil
	if t.reply.message.Blank() {
		t.planned = t.reopened()
	} else {
		t.repeated.saw(t.reply.message.ToolCalls)
		t.spend(budget{calls: len(t.reply.calls)})
	}
	if err := t.execute(ctx, t.planned); err != nil {
		return t.leave(err)
	}
	if halted(ctx) == cancelled {
		return cancelled
	}
	return observed
}

// reopened plans the calls that are open since before a restart: those that can be made again, and, in their order, those
// that are only to be answered.
func (t *turn) reopened() plan {
	open := t.Journal.Session().Turn
	again, unstarted := open.Unstarted()
	var all []prepared
	for _, c := range open.Open {
		if slices.Contains(again, c) {
			all = append(all, t.tools.prepare(readCall(c, FinishTools)))
		} else {
			p := prepared{call: c}
			p.outcome, p.answer = cutOff(slices.Contains(unstarted, c))
			all = append(all, p)
		}
	}
	return inSteps(all)
}

// observe checks every end condition.
func (t *turn) observe(ctx context.Context) signal {
	if halted(ctx) == cancelled {
		return cancelled
	}
	for _, c := range t.conditions() {
		if c.holds() {
			t.ending = c.reason
			t.log.Info("end condition", "reason", c.reason, "used", c.used, "limit", c.limit)
			return exhausted
		}
	}
	if err := t.steer(ctx); err != nil {
		return t.leave(err)
	}
	return goOn
}

// halted tells whether a context has ended, and on what signal a state ends because of it.
func halted(ctx context.Context) signal {
	switch context.Cause(ctx) {
	case nil:
		return ""
	case errTimeout:
		return timedOut
	}
	return cancelled
}

// fail ends the turn because of a bug.
func (t *turn) fail(err error) signal {
	t.outcome = Outcome{Reason: EndInternal, Err: err}
	return lost
}

// leave leaves the turn open, because the log does not take what was to be written.
func (t *turn) leave(err error) signal {
	t.left = err
	return lost
}

func (t *turn) emit(e Event) {
	t.telling.Lock()
	defer t.telling.Unlock()
	if t.Observe != nil {
		t.Observe(e)
	}
}

func (t *turn) logTransition(ctx context.Context, from State, on signal, to State) {
	if !t.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	checked := []string{}
	if from == Observing {
		for _, c := range t.conditions() {
			checked = append(checked, c.String())
		}
	}
	t.log.Debug("transition", "round", t.budget.rounds, "from", from, "signal", on, "to", to,
		"tokens_in", t.usage.Input, "tokens_out", t.usage.Output, "tokens_added", t.budget.tokens,
		"fingerprint", t.repeated.last, "equal_rounds", t.repeated.count, "checked", checked)
}
