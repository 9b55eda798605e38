package loop

import (
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// Event is what a turn tells its observer. The set is closed. Order: RoundStarted, then TextDelta any number of times,
// then Replied; then for each tool call CallStarted and CallEnded, where parallel calls interleave; Retrying,
// Compacted and Ended as they happen; Ended is last, exactly once.
type Event interface{ event() }

// RoundStarted: a model call begins. Round counts from 1.
type RoundStarted struct{ Round int }

// TextDelta: a piece of the model's text arrived.
type TextDelta struct{ Text string }

// Replied: the model's reply is complete and committed.
type Replied struct {
	Round int
	Text  string // what it said beside its tool calls, or the answer
	Calls int
	Usage sessions.Usage
}

// CallStarted: a tool call begins to run.
type CallStarted struct {
	CallID, Tool, Preview string
}

// CallEnded: a tool call has its result, committed.
type CallEnded struct {
	CallID, Tool string
	Outcome      sessions.Outcome
	Took         time.Duration
}

// Retrying: a model call failed and is tried again after Wait.
type Retrying struct {
	Class   ErrorClass
	Attempt int
	Wait    time.Duration
}

// Compacted: the history was compressed, from Before to After tokens.
type Compacted struct{ Before, After int }

// Ended: the turn is over and its end is committed.
type Ended struct{ Outcome Outcome }

func (RoundStarted) event() {}
func (TextDelta) event()    {}
func (Replied) event()      {}
func (CallStarted) event()  {}
func (CallEnded) event()    {}
func (Retrying) event()     {}
func (Compacted) event()    {}
func (Ended) event()        {}
