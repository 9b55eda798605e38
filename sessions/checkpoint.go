package sessions

import (
	"slices"
	"time"
)

// Point is a state that a conversation had: that after the record To. Folding from the record From on gives it, and needs
// nothing that was before. The zero Point is the state before the first record.
type Point struct {
	From Revision `json:"from"`
	To   Revision `json:"to"`
}

// Checkpoint is the part of a session that an entry carries when folding can begin at its record.
type Checkpoint struct {
	Messages []Message    `json:"messages"`
	Prompt   *PromptBuilt `json:"prompt,omitempty"`
	Turn     *Turn        `json:"turn,omitempty"` // the open turn, if there is one
	Segment  string       `json:"segment"`        // the session's id, see Session.ID
	Started  time.Time    `json:"started"`
	Count    int          `json:"count"` // how many compactions this segment has had, this one included

	// Ineffective is how many compactions in a row had been found ineffective before, see Session.
	Ineffective int `json:"ineffective,omitempty"`

	Todos     []Todo         `json:"todos,omitempty"`
	Notes     []NotesChanged `json:"notes,omitempty"`
	Approvals []Approved     `json:"approvals,omitempty"`
	Exchanges []Exchange     `json:"exchanges,omitempty"`

	Settings    []SettingChanged `json:"settings,omitempty"`
	Undelivered *DeliveryFailed  `json:"undelivered,omitempty"`
	Asides      []Aside          `json:"asides,omitempty"`
}

// Checkpoint returns what has to be carried so that folding can begin with this state.
func (s *Session) Checkpoint() Checkpoint {
	return Checkpoint{
		Messages: s.Messages, Prompt: s.Prompt, Turn: s.Turn, Segment: s.ID, Started: s.Started, Count: s.Compactions,
		Ineffective: s.Ineffective, Todos: s.Todos, Notes: s.Notes, Approvals: s.Approvals, Exchanges: s.Exchanges,
		Settings: s.Settings, Undelivered: s.Undelivered, Asides: s.Asides,
	}
}

// Snapshot returns the session as it is now. Later records do not change it, and it costs the same however long the history is.
func (s *Session) Snapshot() *Session {
	now := *s
	now.Messages = slices.Clip(now.Messages)
	if now.Turn != nil {
		turn := *now.Turn
		turn.Open = slices.Clone(turn.Open)
		now.Turn = &turn
	}
	return &now
}

// restore replaces all that was folded so far by what a checkpoint in a record carries.
func (s *Session) restore(c Checkpoint, at Revision) {
	s.ID, s.Started, s.Base = c.Segment, c.Started, at
	s.Messages = slices.Clone(c.Messages)
	s.Prompt = c.Prompt
	s.Todos, s.Notes, s.Approvals, s.Exchanges = c.Todos, c.Notes, c.Approvals, c.Exchanges
	s.Settings, s.Undelivered, s.Asides = c.Settings, c.Undelivered, c.Asides
	s.Answered = nil
	s.Measured, s.MeasuredTo = 0, 0
	s.Compactions, s.Ineffective, s.Unjudged = c.Count, c.Ineffective, 0
	s.Turn = nil
	if c.Turn != nil { // a copy, because the session goes on changing it and the record must not change
		t := *c.Turn
		t.Open = slices.Clone(t.Open)
		s.Turn = &t
	}
}
