package gateway

import (
	"context"
	"slices"
)

// phase is where a conversation stands.
type phase string

const (
	asleep     phase = "asleep"     // there is nothing to do; after a minute of that it has no goroutine
	debouncing phase = "debouncing" // messages wait for more of them
	running    phase = "running"    // a turn runs, or waits for a worker or a person
	parked     phase = "parked"     // the program ends; what runs and waits goes on at the next start
)

// phaseChange is one row of the table.
type phaseChange struct{ from, to phase }

// phaseChanges is the whole machine. Of the updates, messages alone begin turns; commands, buttons and what is refused are
// dealt with in every phase and leave it as it is, but that a stop ends what runs and what waits. While a turn runs, what
// a message does is the busy mode's affair: it waits in the queue, whether or not it cancels the turn; so that a turn can
// be followed by another one without anything between.
var phaseChanges = []phaseChange{
	{asleep, debouncing},  // a message that may have a second part, or a pause is configured
	{asleep, running},     // a message, or a turn that an earlier process left open
	{debouncing, running}, // the time is up
	{debouncing, asleep},  // what waited was withdrawn, or deleted, or cannot be worked on
	{running, debouncing}, // the turn has ended, and behind it waits what may have a second part
	{running, asleep},     // the turn has ended
	{asleep, parked}, {debouncing, parked}, {running, parked},
}

// phase returns where the conversation stands.
func (c *conversation) phase(ctx context.Context) phase {
	switch {
	case ctx.Err() != nil:
		return parked
	case c.turn != nil:
		return running
	case len(c.queue) > 0:
		return debouncing
	}
	return asleep
}

// look takes note of a change of the phase. One that the table does not have is a bug.
func (c *conversation) look(ctx context.Context) {
	was := c.was
	c.was = c.phase(ctx)
	switch {
	case c.was == was:
	case slices.Contains(phaseChanges, phaseChange{was, c.was}):
		c.g.log.Debug("phase", "conversation", c.key, "from", was, "to", c.was, "waiting", len(c.queue))
	default:
		c.g.log.Error("a conversation is where it cannot be", "conversation", c.key, "from", was, "to", c.was)
	}
}
