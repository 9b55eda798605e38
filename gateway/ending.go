package gateway

import (
	"strings"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// Ending is what became of an accepted update. Each has exactly one, written down by the commit that consumes it.
type Ending string

const (
	Answered   Ending = "answered"    // by the model
	EndedEarly Ending = "ended early" // answered as far as the limits of a turn allowed, and told so
	Failed     Ending = "failed"      // told so
	Stopped    Ending = "stopped"     // its turn was stopped by a person
	Superseded Ending = "superseded"  // a newer message took its turn's place; the next turn knows of it
	Refused    Ending = "refused"     // told why
	Withdrawn  Ending = "withdrawn"   // it waited, and a person has stopped or deleted it
	Barred     Ending = "barred"      // whoever sent it is not allowed any more
	Done       Ending = "done"        // a command, a press, an answer to a question: carried out
)

// Endings returns all endings.
func Endings() []Ending {
	return []Ending{Answered, EndedEarly, Failed, Stopped, Superseded, Refused, Withdrawn, Barred, Done}
}

// EndingOf returns what became of the items that a record consumes.
func EndingOf(r sessions.Record) Ending {
	for _, e := range r.Entries {
		if end, ok := e.(sessions.TurnEnded); ok {
			return endingFor(loop.EndReason(end.Reason))
		}
	}
	if r.Ended == "" { // written by a version that did not say
		return Done
	}
	return Ending(r.Ended)
}

// endingFor returns what becomes of the messages of a turn that ends for a reason.
func endingFor(reason loop.EndReason) Ending {
	switch reason {
	case loop.EndAnswered:
		return Answered
	case loop.EndStopped:
		return Stopped
	case loop.EndSuperseded:
		return Superseded
	case loop.EndModelFailed, loop.EndEmpty, loop.EndInternal, loop.EndCrashed:
		return Failed
	}
	return EndedEarly
}

// ending is what becomes of an update that the gateway itself replies to: a command is carried out, a message refused.
func (in *input) ending(reply string) Ending {
	if in.Button == nil && in.Message != nil && reply != "" {
		if _, _, command := parseCommand(in.Message); !command {
			return Refused
		}
	}
	return Done
}

// settled counts what a committed record ends.
func (g *Gateway) settled(key sessions.Key, r sessions.Record) {
	if len(r.Consumed) > 0 {
		g.errands.done(r.Consumed)
		g.observe(Settled{Platform: platformOf(key), Ending: EndingOf(r), Count: len(r.Consumed)})
	}
}

// platformOf returns the platform that a conversation is on.
func platformOf(key sessions.Key) platforms.Name {
	name, _, _ := strings.Cut(string(key), "/")
	return platforms.Name(name)
}
