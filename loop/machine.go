package loop

import "fmt"

// State is where a turn stands.
type State string

const (
	Idle       State = "idle"       // nothing was done yet
	Thinking   State = "thinking"   // a model call runs
	Acting     State = "acting"     // the tool calls of the last reply run
	Observing  State = "observing"  // their results are in; every end condition is checked here
	Recovering State = "recovering" // a model call gave nothing usable
	Done       State = "done"       // the turn is to be closed
)

// signal is what a state reports when its work is over.
type signal string

const (
	begun      signal = "begun"       // the user message waits for a reply
	wasDone    signal = "was done"    // resumed, and nothing is left to do but to close
	askedAgain signal = "asked again" // resumed, and calls of before wait for a person
	saidText   signal = "said text"   // the reply is an answer
	heldBack   signal = "held back"   // the reply is text, but the model is asked once more
	askedTools signal = "asked tools" // the reply has tool calls, and it is committed
	saidNone   signal = "said none"   // the reply is empty
	failed     signal = "failed"      // the model call failed
	observed   signal = "observed"    // every tool call has its result, committed
	goOn       signal = "go on"       // no end condition holds
	exhausted  signal = "exhausted"   // an end condition holds
	retry      signal = "retry"       // the call is worth another try
	gaveUp     signal = "gave up"     // it is not
	timedOut   signal = "timed out"   // the turn's wall clock ran out
	cancelled  signal = "cancelled"   // stopped, superseded or parked
	lost       signal = "lost"        // the log did not take an entry, or the turn is broken; nothing more is tried
)

// guard is a condition of a transition.
type guard struct {
	name  string
	holds func(t *turn) bool
}

// transition is one row of the table.
type transition struct {
	from State
	on   signal
	when *guard // nil = always
	to   State
}

// beforeGrace: no end condition has been found yet, so tools and further rounds are possible.
var beforeGrace = &guard{"no end condition yet", func(t *turn) bool { return t.ending == "" }}

// transitions is the whole machine. A signal that no row answers is a bug: the turn ends with an internal error.
//
// The end condition that Observing finds leads to one more Thinking, the grace call. From there no row leads to Acting,
// Observing or another Thinking, so there is no second one, whatever model and tools do.
var transitions = []transition{
	{Idle, begun, nil, Thinking},
	{Idle, observed, nil, Observing},
	{Idle, askedAgain, nil, Acting},
	{Idle, wasDone, nil, Done},
	{Idle, lost, nil, Done},

	{Thinking, saidText, nil, Done},
	{Thinking, heldBack, beforeGrace, Thinking},
	{Thinking, askedTools, beforeGrace, Acting},
	{Thinking, saidNone, nil, Recovering},
	{Thinking, failed, nil, Recovering},
	{Thinking, timedOut, beforeGrace, Observing},
	{Thinking, cancelled, nil, Done},
	{Thinking, lost, nil, Done},

	{Acting, observed, beforeGrace, Observing},
	{Acting, cancelled, beforeGrace, Done},
	{Acting, lost, nil, Done},

	{Observing, goOn, beforeGrace, Thinking},
	{Observing, exhausted, nil, Thinking},
	{Observing, cancelled, nil, Done},
	{Observing, lost, nil, Done},

	{Recovering, retry, beforeGrace, Thinking},
	{Recovering, gaveUp, nil, Done},
	{Recovering, timedOut, beforeGrace, Observing},
	{Recovering, cancelled, nil, Done},
	{Recovering, lost, nil, Done},
}

// next returns the state that a signal leads to.
func next(t *turn, from State, on signal) (State, error) {
	for _, row := range transitions {
		if row.from == from && row.on == on && (row.when == nil || row.when.holds(t)) {
			return row.to, nil
		}
	}
	return Done, fmt.Errorf("no transition from %s on %q", from, on)
}
