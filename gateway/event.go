package gateway

import (
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// Event is what a gateway tells its observer, for counting; nothing depends on it. The set is closed. The counts of one
// process add up at any quiet moment, and so do those of several processes one after the other:
//
//	items that Began found + Accepted = what Settled counts + items that wait in the inbox
//	rows that Began found + RowQueued = RowSettled + rows that are still on their way
type Event interface{ event() }

// Began: the gateway has taken over what an earlier process left.
type Began struct {
	Items int // accepted updates without an outcome
	Rows  int // answers that were not delivered, those in doubt included
}

// Accepted: an update was made durable.
type Accepted struct{ Platform platforms.Name }

// Settled: accepted updates have got their outcome, in one commit.
type Settled struct {
	Platform platforms.Name
	Ending   Ending
	Count    int
}

// Signed: a person can see for the first time that a message was taken, so long after it was accepted: a reaction, the
// typing indicator, the progress message or the answer itself.
type Signed struct {
	Platform platforms.Name
	Waited   time.Duration
}

// RowQueued: an answer was put into the outbox, or one in doubt again, because a person wants it.
type RowQueued struct{ Platform platforms.Name }

// RowRetried: an attempt to send a part of an answer came to nothing, and another one follows.
type RowRetried struct {
	Platform platforms.Name
	Class    platforms.Class
}

// RowSettled: nothing more is done about an answer: it is sent, dead, or in doubt.
type RowSettled struct {
	Platform platforms.Name
	State    sessions.State // the worst of its parts
	Waited   time.Duration  // since the message that it answers was accepted; 0 = not known

	Row          sessions.RowID
	Conversation sessions.Key
	Task         string          // the turn that it is from; empty = none
	Message      sessions.ItemID // that it answers; empty = none
	Queued       time.Time       // when it was put into the outbox; zero = not known
	Attempts     int             // at all of its parts
}

// Edited: a progress message was edited, or did not have to be, because the next edit tells the same or more.
type Edited struct {
	Platform platforms.Name
	Saved    bool
}

// Stranger: somebody who may not talk to the bot was refused. Nothing of what he wrote was stored.
type Stranger struct{ Platform platforms.Name }

// InTurn: the loop tells something about a running turn. Pieces of text are left out.
type InTurn struct {
	Platform platforms.Name
	Event    loop.Event

	Conversation sessions.Key
	Task         string
	Message      sessions.ItemID // the first that it answers
	Started      time.Time       // when the turn was, also if that was in another process
}

func (Began) event()      {}
func (Accepted) event()   {}
func (Settled) event()    {}
func (Signed) event()     {}
func (RowQueued) event()  {}
func (RowRetried) event() {}
func (RowSettled) event() {}
func (Edited) event()     {}
func (Stranger) event()   {}
func (InTurn) event()     {}

// observe tells the observer, if there is one.
func (g *Gateway) observe(e Event) {
	if g.parts.Observe != nil {
		g.parts.Observe(e)
	}
}
