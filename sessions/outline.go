package sessions

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"
)

// Segment is one of the sessions of a conversation.
type Segment struct {
	Point         // the state in which it was left, or is
	ID     string // see Session.ID
	Number int    // in the order in which they began, from 1
	Parent int    // number of the one that it was branched from, zero if it began empty
	Title  string
	First  string    // the first words that somebody said in it; empty if nobody has
	Last   time.Time // of its newest record
}

// Outline lists the sessions of a conversation. It is a projection of the log, brought up to date record by record, and
// belongs to one goroutine. The zero value is that of an empty log of the key.
type Outline struct {
	Key      Key
	Read     Revision // of the newest record that is in
	Segments []Segment
	current  int
	begins   time.Time // of the log's first record
}

// Past gives the log of a conversation. Store is one.
type Past interface {
	History(ctx context.Context, key Key, after Revision) iter.Seq2[Record, error]
}

// Follow takes in what the log has more, and calls each with every record after that. If the log's beginning has been
// removed since (see Store.Trim and Erase), it calls anew and begins with what is left.
func (o *Outline) Follow(ctx context.Context, past Past, anew func(), each func(Record)) error {
	var begins time.Time
	for r, err := range past.History(ctx, o.Key, 0) {
		if err != nil {
			return err
		}
		begins = r.At
		break
	}
	if !begins.Equal(o.begins) {
		*o = Outline{Key: o.Key, begins: begins}
		anew()
	}
	for r, err := range past.History(ctx, o.Key, o.Read) {
		if err != nil {
			return err
		}
		o.Add(r)
		each(r)
	}
	return nil
}

// mostFirst is how many runes of the first message an outline keeps.
const mostFirst = 60

// Current returns the session that the conversation is in, nil if the log is empty.
func (o *Outline) Current() *Segment {
	if len(o.Segments) == 0 {
		return nil
	}
	return &o.Segments[o.current]
}

// Add takes the next record in.
func (o *Outline) Add(r Record) {
	first := len(o.Segments) == 0
	if first && len(r.Entries) == 0 { // nothing has begun
		o.Read = r.Revision
		return
	}
	if first {
		o.begin(r.Revision, 0)
	}
	for _, e := range r.Entries {
		switch e := e.(type) {
		case Reset:
			if !first { // which begins a session anyway
				o.begin(r.Revision, 0)
			}
		case Compaction:
			o.Current().From = r.Revision
		case Rewound:
			o.rewound(e, r.Revision)
		case Titled:
			o.Current().Title = e.Title
		case UserMessage:
			if s := o.Current(); s.First == "" {
				s.First = firstWords(e.Message.Text)
			}
		}
	}
	o.Current().To, o.Current().Last, o.Read = r.Revision, r.At, r.Revision
}

// begin adds a session that begins with a record.
func (o *Outline) begin(at Revision, parent int) {
	o.current = len(o.Segments)
	o.Segments = append(o.Segments, Segment{
		Point: Point{From: at}, ID: segmentOf(o.Key, at), Number: len(o.Segments) + 1, Parent: parent,
	})
}

func (o *Outline) rewound(e Rewound, at Revision) {
	if e.Segment == "" {
		o.begin(at, o.Current().Number)
	} else if i := slices.IndexFunc(o.Segments, func(s Segment) bool { return s.ID == e.Segment }); i >= 0 {
		o.current = i
	}
	s := o.Current()
	s.From, s.First = at, ""
	for _, m := range e.Messages {
		if m.Role == RoleUser {
			s.First = firstWords(m.Text)
			break
		}
	}
}

func firstWords(text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > mostFirst {
		return strings.TrimSpace(string(r[:mostFirst])) + "…"
	}
	return string(r)
}
