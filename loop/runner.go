// Package loop is the agent's engine: it runs one turn of a conversation at a time, as a state machine over model calls
// and tool calls, until a final text or a controlled stop.
//
// Four layers are kept apart: scheduling (which state next: machine.go), inference (call the model and understand its
// reply), execution (validate and run tools), state (ledger, budget, journal). Only the state layer writes the log, and
// it writes before anybody is told. A turn runs on the goroutine that called Run; parallel tool calls run on goroutines
// that Run waits for. Events reach the observer in the order in which things happened. The package knows no platform
// and no store.
package loop

import (
	"context"
	"log/slog"
	"time"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// EndReason says why a turn ended.
type EndReason string

const (
	EndAnswered    EndReason = "answered"
	EndStopped     EndReason = "stopped"    // a person said stop
	EndSuperseded  EndReason = "superseded" // a new message took its place
	EndRounds      EndReason = "model call budget"
	EndTokens      EndReason = "token budget"
	EndCalls       EndReason = "tool call budget"
	EndRepetition  EndReason = "repetition"
	EndTimeout     EndReason = "timeout"
	EndEmpty       EndReason = "empty reply"
	EndModelFailed EndReason = "model failed"
	EndInternal    EndReason = "internal error"
	EndCrashed     EndReason = "crashed too often"
)

// The causes with which a turn's context is cancelled.
type cause string

func (c cause) Error() string { return string(c) }

const (
	// ErrStopped: a person said stop.
	ErrStopped = cause("stopped by a person")
	// ErrSuperseded: a newer message takes the turn's place.
	ErrSuperseded = cause("superseded by a newer message")
	// ErrParked: the process shuts down; the turn stays open in the log and goes on at the next start.
	ErrParked = cause("parked for a restart")
)

// Limits bound a turn. Zero values mean those of DefaultLimits.
type Limits struct {
	MaxTurns        int           // model calls
	MaxToolCalls    int           //
	MaxTokens       int           // what the turn adds: output and newly appended input
	Timeout         time.Duration // wall clock, without the time spent waiting for a person
	RepeatThreshold int           // equal rounds in a row
	ResultHead      int           // lines of a tool result kept at its beginning
	ResultTail      int           // and at its end
	RetryModel      int           // attempts at a failing model call, the first included
	RetryPerTool    int           // times that wrong arguments for a tool may be corrected, -1 = never
	CircuitBreak    int           // failures of a tool in a row after which it is unavailable for the rest of the turn
	MaxOutput       int           // tokens that one reply may have, 0 = the provider's default
}

// DefaultLimits are those of the published system, but for the ones that it leaves open.
func DefaultLimits() Limits {
	return Limits{
		MaxTurns: 90, MaxToolCalls: 150, MaxTokens: 400_000, Timeout: 30 * time.Minute,
		RepeatThreshold: 3, ResultHead: 50, ResultTail: 20, RetryModel: 3,
		RetryPerTool: 2, CircuitBreak: 3,
	}
}

// orDefaults fills in what is zero.
func (l Limits) orDefaults() Limits {
	d := DefaultLimits()
	fill := func(v *int, or int) {
		if *v == 0 {
			*v = or
		}
	}
	fill(&l.MaxTurns, d.MaxTurns)
	fill(&l.MaxToolCalls, d.MaxToolCalls)
	fill(&l.MaxTokens, d.MaxTokens)
	fill(&l.RepeatThreshold, d.RepeatThreshold)
	fill(&l.ResultHead, d.ResultHead)
	fill(&l.ResultTail, d.ResultTail)
	fill(&l.RetryModel, d.RetryModel)
	fill(&l.RetryPerTool, d.RetryPerTool)
	fill(&l.CircuitBreak, d.CircuitBreak)
	if l.Timeout == 0 {
		l.Timeout = d.Timeout
	}
	return l
}

// Journal is the state layer's way to the conversation's log. It belongs to one turn and is called from one goroutine.
type Journal interface {
	// Session returns the state as folded so far, all appended entries included. It must not be changed.
	Session() *sessions.Session
	// Append makes entries durable. After an error the turn must stop at once: the log may belong to somebody else.
	Append(ctx context.Context, entries ...sessions.Entry) error
	// End makes the last entries, the outcome and the answer's way to the person durable in one commit. It is called
	// exactly once, with a context that outlives the turn's cancellation.
	End(ctx context.Context, outcome Outcome, entries ...sessions.Entry) error
}

// Outcome is how a turn ended. Its Reason is empty if the turn did not end: it was parked, or the log did not take an
// entry. Err says which, the turn stands open in the log, and nobody was told anything.
type Outcome struct {
	Reason EndReason
	Said   bool   // the model wrote the text, or all but its last line
	Text   string // Markdown: the answer, or the sentence that tells the person why there is none; empty if superseded
	Err    error  // the cause, for the log; never shown as it is
	Usage  sessions.Usage
	Rounds int
	Calls  int
}

// Turn is what Run works on. The open turn with its user message is in the journal's session already.
type Turn struct {
	ID      string
	Journal Journal
	Scope   tools.Scope
	Tools   *tools.Registry
	Resumed bool        // it goes on after the process died in it, or left it
	Within  bool        // it was left by this process
	Observe func(Event) // called synchronously; must not block; nil = nobody
	// Steer returns what people have said to the turn since it was called last, false if nothing. It is called between
	// two steps, once the results of the tools are in and before the next model call; what it returned is committed
	// before it is called again. nil = nobody can.
	Steer func() (sessions.Steered, bool)
	Tape  Tape // nil = none
	// See returns a picture of one of the turn's messages as models take it; an error says why it cannot be shown. It is
	// called before each request that shows the picture, by the goroutine of Run; nil = no picture is shown.
	See func(ctx context.Context, p sessions.Picture) (tools.Image, error)
	// MaxTurns bounds the model calls, if that is less than the Runner's Limits do; 0 = it does not.
	MaxTurns int
	// Log gets the turn's lines, with what tells it from others beside its id; nil = the Runner's.
	Log *slog.Logger

	lane string // see Tape
}

// Runner runs turns. Its fields do not change after the first Run; it may run any number of turns at once, one a
// conversation.
type Runner struct {
	Model      Model
	Limits     Limits
	Policy     tools.Policy   // nil = every call is allowed
	Approver   tools.Approver // nil = nobody can be asked, which counts as no
	Asker      tools.Asker    // nil = no question can be asked
	Hooks      []tools.Hook   // around every call, in this order
	Compressor *Compressor    // for a context that turns out too long; nil = the turn ends with a sentence
	Log        *slog.Logger   // nil = none

	stragglers stragglers
	succeeded  *stragglers // of the Runner that this one takes over from
}

// Run runs one turn to its end and returns the outcome that was committed. It must be cancelled with one of the causes
// ErrStopped, ErrSuperseded and ErrParked; any other cause counts as parked, so that nothing is lost. After a cancel it
// returns within about five seconds.
func (r *Runner) Run(ctx context.Context, work Turn) Outcome {
	t := newTurn(r, work)
	return t.run(ctx)
}

// Sees tells whether the model that would be asked now sees pictures.
func (r *Runner) Sees() bool { return chainOf(r.Model).start().profile().Vision }

// Wait waits for tool calls that did not stop when they were told to. No turn may start meanwhile.
func (r *Runner) Wait() { r.late().wait.Wait() }

// Succeed makes the Runner take over from another one, whose turns may still run: calls that do not stop when they were
// told to concern both. It comes before the first Run.
func (r *Runner) Succeed(before *Runner) { r.succeeded = before.late() }

// late returns the calls that outlived their turns.
func (r *Runner) late() *stragglers {
	if r.succeeded != nil {
		return r.succeeded
	}
	return &r.stragglers
}
