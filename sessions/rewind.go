package sessions

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// Rewound makes a conversation go on from the state that it had at an earlier point. Nothing is erased: what happened
// since stays in the log. The Segment tells what it is: of the session itself, exchanges are taken back; of another one,
// that one is resumed; empty, a new session begins as a branch, named after the record like one that begins with a
// Reset. It never stands inside a turn.
//
// It carries the whole state and not just the point. So loading costs after it what it costs after a compaction,
// however long the log is and however far back the point lies. Only writing it needs the point's own fold, which
// FoldUntil makes from Point.From on, record by record: every exchange that can be taken back and every session that
// can be resumed is known with its point, so that what lies before is never read.
type Rewound struct {
	Checkpoint
	Point
	By string    `json:"by"` // stable id of the person
	At time.Time `json:"at"`

	Answered   []ItemID `json:"answered,omitempty"` // see Session, as the next three
	Measured   int      `json:"measured,omitempty"`
	MeasuredTo int      `json:"measured_to,omitempty"`
	Unjudged   int      `json:"unjudged,omitempty"`
}

// Titled gives the session a name. An empty one takes it away.
type Titled struct {
	Title string    `json:"title"`
	By    string    `json:"by"` // stable id of the person
	At    time.Time `json:"at"`
}

// Exchange is a turn that can be taken back, with the state before it.
type Exchange struct {
	Point
	Turn      string `json:"turn"`
	Requester string `json:"requester"`
}

// mostExchanges bounds Session.Exchanges. The state before the oldest of them has as many again.
const mostExchanges = 20

func (Rewound) kind() string { return "rewound" }
func (Titled) kind() string  { return "titled" }

// TakeBack returns the entry that makes the session go on from then, its state at a point before some exchanges. The
// list of things to do goes back with the messages. Notes do not, and neither does the prompt, which shows them and
// stays in the provider's cache that way. A permission for the session goes with the exchange in which it was given,
// one for good stays, and none comes back that was revoked.
func (s *Session) TakeBack(then *Session, at Point) Rewound {
	e := s.goOn(then, at)
	e.Segment, e.Started, e.Prompt = s.ID, s.Started, s.Prompt
	if !samePrompt(s.Prompt, then.Prompt) {
		e.Measured, e.MeasuredTo = 0, 0
	}
	e.Approvals = slices.DeleteFunc(slices.Clone(s.Approvals), func(a Approved) bool {
		_, before := then.Approval(a.Rule, a.For)
		return !a.Forever && !before
	})
	return e
}

// Branch returns the entry that begins a new session with all that is in this one.
func (s *Session) Branch() Rewound {
	e := s.goOn(s, Point{s.Base, s.Revision})
	e.Segment = ""
	return e
}

// Resume returns the entry that makes the conversation go on with another session, from the point where that was left.
// Its prompt is built anew, because the notes in it may be old.
func (s *Session) Resume(then *Session, at Point) Rewound {
	e := s.goOn(then, at)
	e.Prompt, e.Measured, e.MeasuredTo = nil, 0, 0
	return e
}

// goOn is the state then with what belongs to people and not to a session: the notes, what they set, and what they
// allowed for good.
func (s *Session) goOn(then *Session, at Point) Rewound {
	e := Rewound{
		Checkpoint: then.Checkpoint(), Point: at, At: time.Now(), Answered: then.Answered,
		Measured: then.Measured, MeasuredTo: then.MeasuredTo, Unjudged: then.Unjudged,
	}
	e.Notes, e.Settings, e.Approvals = s.Notes, s.Settings, s.Forever()
	return e
}

func samePrompt(a, b *PromptBuilt) bool {
	return a == b || a != nil && b != nil && a.System == b.System && bytes.Equal(a.Tools, b.Tools)
}

// rewound goes on from the state that an entry carries.
func (s *Session) rewound(e Rewound, r Record) error {
	if s.Turn != nil {
		return fmt.Errorf("rewound within turn %s", s.Turn.ID)
	}
	if e.Turn != nil {
		return fmt.Errorf("rewound into turn %s", e.Turn.ID)
	}
	if e.Segment == "" {
		e.Segment = segmentOf(s.Key, r.Revision)
	}
	s.restore(e.Checkpoint, r.Revision)
	s.Answered, s.Measured, s.MeasuredTo, s.Unjudged = slices.Clone(e.Answered), e.Measured, e.MeasuredTo, e.Unjudged
	return nil
}

// begun remembers how to take back the turn that starts. The list is never changed in place, because copies of the
// session share it.
func (s *Session) begun(e TurnStarted, before Point) {
	from := max(0, len(s.Exchanges)+1-mostExchanges)
	s.Exchanges = append(slices.Clone(s.Exchanges[from:]), Exchange{Point: before, Turn: e.Turn, Requester: e.Requester})
}
