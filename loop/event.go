package loop

import (
	"time"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// Event is what a turn tells its observer. The set is closed. Order: RoundStarted, then TextDelta any number of times,
// then ModelReturned, then Replied, after which a Nudged begins another round; then for each tool call CallStarted and CallEnded, where parallel calls interleave, a call that waits
// for a person has AwaitingApproval and ApprovalOver before its CallStarted, and a CallSaid comes at any time while it runs; Retrying, FellBack, Compacted and TakenIn as they
// happen; Ended is last, exactly once, but for a turn that did not end (see Outcome). A call that never runs has its
// CallEnded without a CallStarted.
type Event interface{ event() }

// RoundStarted: a model call begins. Round counts from 1 and comes again with the same number if the call is tried
// again; what an earlier try said is void then.
type RoundStarted struct{ Round int }

// TextDelta: a piece of the model's text arrived.
type TextDelta struct{ Text string }

// ModelReturned: a call to a model is over. It comes before the Replied or Retrying that it leads to.
type ModelReturned struct {
	Round int
	Model string
	Class ErrorClass // what went wrong, empty if nothing did
	Took  time.Duration
	Usage sessions.Usage
}

// Replied: the model's reply is complete and, if it has tool calls, committed.
type Replied struct {
	Round int
	Text  string // what it said beside its tool calls, or the answer
	Calls int
	Usage sessions.Usage
}

// Nudged: the reply just told of is held back, and the model is asked once more.
type Nudged struct {
	Round int
	Why   Nudge
}

// AwaitingApproval: a person is asked whether a tool call may run.
type AwaitingApproval struct {
	CallID, Tool, Preview string
}

// ApprovalOver: the waiting for a person is over.
type ApprovalOver struct {
	CallID, Tool string
	Allowed      bool
}

// CallStarted: a tool call begins to run.
type CallStarted struct {
	CallID, Tool, Preview string
}

// CallSaid: a running tool call has something to say, a few last lines of its output. Lossy: only the latest one counts.
type CallSaid struct {
	CallID, Tool string
	Text         string
}

// CallEnded: a tool call has its result, committed.
type CallEnded struct {
	CallID, Tool string
	Outcome      sessions.Outcome
	Class        tools.Failure // what went wrong, empty if nothing did
	Stage        string        // where: "call", "parse" or "execution"
	Took         time.Duration
}

// CircuitOpened: a tool has failed so often in a row that it is not called any more in this turn.
type CircuitOpened struct{ Tool string }

// Retrying: a model call failed and is tried again after Wait.
type Retrying struct {
	Class   ErrorClass
	Attempt int // the number of the try that failed, from 1
	Wait    time.Duration
}

// Changed: a tool has changed the session by an entry that was committed with its result. It comes before the CallEnded.
type Changed struct {
	CallID string
	Entry  sessions.Entry
}

// SubAgent: something happened in a sub-agent, between the CallStarted and the CallEnded of the call that it works for.
// Those of several sub-agents interleave.
type SubAgent struct {
	CallID string
	Task   int // which of the call's tasks, from 1
	Event  Event
}

// TakenIn: what people said meanwhile was committed; the next model call sees it.
type TakenIn struct{ Text string }

// FellBack: a model was given up for this turn, and the next one of the chain is asked.
type FellBack struct {
	Class    ErrorClass // what made it give up the one before
	From, To string     // names of models
}

// Compacted: the history was compressed, from Before to After tokens. Pruned means that only old tool results were left
// out, and no model was asked.
type Compacted struct {
	Before, After int
	Pruned        bool
}

// Ended: the turn is over and its end is committed.
type Ended struct{ Outcome Outcome }

// Fleeting tells whether an event is a piece of something that comes whole later, so that it is of use only to whoever
// looks on. There may be thousands of them a second.
func Fleeting(e Event) bool {
	switch e := e.(type) {
	case TextDelta, CallSaid:
		return true
	case SubAgent:
		return Fleeting(e.Event)
	}
	return false
}

func (RoundStarted) event()     {}
func (TextDelta) event()        {}
func (ModelReturned) event()    {}
func (Replied) event()          {}
func (Nudged) event()           {}
func (AwaitingApproval) event() {}
func (ApprovalOver) event()     {}
func (CallStarted) event()      {}
func (CallSaid) event()         {}
func (CallEnded) event()        {}
func (CircuitOpened) event()    {}
func (Retrying) event()         {}
func (Changed) event()          {}
func (SubAgent) event()         {}
func (TakenIn) event()          {}
func (FellBack) event()         {}
func (Compacted) event()        {}
func (Ended) event()            {}
