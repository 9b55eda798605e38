package nats

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// state is the projection of the stream up to and with one sequence.
type state struct {
	applied  uint64
	last     map[string]uint64 // the last sequence of each subject
	leases   map[sessions.Key]sessions.Lease
	heads    map[sessions.Key]head
	pending  map[sessions.ItemID]*item
	consumed map[sessions.ItemID]gone
	rows     map[sessions.RowID]*row
	values   map[string][]byte
	orphans  map[sessions.RowID]bool // rows of erased conversations whose marks may still be in the stream
	parts    map[string]part         // by their subject: of messages that have not come yet
	spans    map[string][]span       // by subject: its messages that stand in parts
}

// head is where a log ends, and where folding it can begin.
type head struct{ last, base sessions.Revision }

type item struct {
	sessions.PendingItem
	seq     uint64
	claimed sessions.Revision // the record that claimed it, 0 if none has
}

// gone is what is remembered of an item that is not pending any more.
type gone struct {
	at   time.Time // of the record that consumed it
	key  sessions.Key
	by   sessions.Revision // that record, 0 if there is none any more
	bare bool              // the stream does not have its payload any more
}

type row struct {
	sessions.Row
	seq   uint64 // of its record
	index int    // in its record
	log   sessions.Key
	at    time.Time
}

func newState() *state {
	return &state{
		last:     make(map[string]uint64),
		leases:   make(map[sessions.Key]sessions.Lease),
		heads:    make(map[sessions.Key]head),
		pending:  make(map[sessions.ItemID]*item),
		consumed: make(map[sessions.ItemID]gone),
		rows:     make(map[sessions.RowID]*row),
		values:   make(map[string][]byte),
		orphans:  make(map[sessions.RowID]bool),
		parts:    make(map[string]part),
		spans:    make(map[string][]span),
	}
}

// apply moves the projection by one message.
func (s *state) apply(subject string, seq uint64, m message) error {
	s.applied = seq
	s.last[subject] = seq
	switch {
	case m.Record != nil:
		r, err := sessions.DecodeRecord(m.Record, sessions.Revision(seq))
		if err != nil {
			return err
		}
		s.record(m.Key, r)
	case m.Lease != nil && m.Lease.Released:
		delete(s.leases, m.Key)
	case m.Lease != nil:
		s.leases[m.Key] = sessions.Lease{Key: m.Key, Owner: m.Lease.Owner, Epoch: seq}
	case m.Item != nil:
		s.pending[m.Item.ID] = &item{PendingItem: sessions.PendingItem{Item: *m.Item}, seq: seq}
	case m.Mark != nil:
		if r := s.rows[m.Mark.Row]; r != nil {
			r.Parts[m.Mark.Part] = m.Mark.To
		} else { // its record went with its conversation
			s.orphans[m.Mark.Row] = true
		}
	case m.Forget != nil:
		delete(s.consumed, m.Forget.Item)
		delete(s.rows, m.Forget.Row)
		delete(s.orphans, m.Forget.Row)
	case m.Value != nil:
		s.values[m.Value.Name] = m.Value.Data
	case m.Seen != nil:
		delete(s.pending, m.Seen.Item)
		s.consumed[m.Seen.Item] = gone{at: m.Seen.At, bare: true}
	case m.Erase != nil:
		s.erase(m.Key, *m.Erase)
	default:
		return fmt.Errorf("message %d is of no known kind (written by a newer version?)", seq)
	}
	return nil
}

func (s *state) record(key sessions.Key, r sessions.Record) {
	h := s.heads[key]
	if h.last == 0 || r.Base() {
		h.base = r.Revision
	}
	h.last = r.Revision
	s.heads[key] = h
	turn, claimed := r.Claims()
	for _, id := range claimed {
		if i := s.pending[id]; i != nil {
			i.Turn, i.claimed = turn, r.Revision
		}
	}
	for _, id := range r.Consumed {
		if s.pending[id] != nil {
			delete(s.pending, id)
			s.consumed[id] = gone{at: r.At, key: key, by: r.Revision}
		}
	}
	for i, o := range r.Outbox {
		s.rows[o.ID] = &row{Row: o, seq: uint64(r.Revision), index: i, log: key, at: r.At}
	}
}

// The preconditions of the commits.

func acceptable(id sessions.ItemID) func(*state) error {
	return func(s *state) error {
		if _, consumed := s.consumed[id]; consumed || s.pending[id] != nil {
			return sessions.ErrSeen
		}
		return nil
	}
}

func appendable(c sessions.Append) func(*state) error {
	return func(s *state) error {
		if s.leases[c.Lease.Key] != c.Lease || s.heads[c.Lease.Key].last != c.After {
			return sessions.ErrStale
		}
		for _, r := range c.Record.Outbox {
			if s.rows[r.ID] != nil {
				return fmt.Errorf("row %s exists", r.ID)
			}
		}
		return nil
	}
}

func markable(c sessions.Mark) func(*state) error {
	return func(s *state) error {
		r := s.rows[c.Row]
		if r == nil || c.Part < 0 || c.Part >= len(r.Parts) || r.Parts[c.Part].State != c.From {
			return sessions.ErrState
		}
		return nil
	}
}

func settable(c sessions.Set) func(*state) error {
	return func(s *state) error {
		if !bytes.Equal(s.values[c.Name], c.Was) {
			return sessions.ErrState
		}
		return nil
	}
}

// checkForget fails with sessions.ErrState if there is nothing (any more) to be forgotten.
func (s *state) checkForget(f forget, before time.Time) error {
	i, ok := s.consumed[f.Item]
	at := i.at
	if r := s.rows[f.Row]; r != nil && r.Done() {
		at, ok = r.at, true
	}
	if !ok || !at.Before(before) {
		return sessions.ErrState
	}
	return nil
}

// forgettable returns what there is to be forgotten.
func (s *state) forgettable(before time.Time) (all []forget) {
	for id := range s.consumed {
		all = append(all, forget{Item: id})
	}
	for id := range s.rows {
		all = append(all, forget{Row: id})
	}
	return slices.DeleteFunc(all, func(f forget) bool { return s.checkForget(f, before) != nil })
}

// pendingItems returns copies of those items that are wanted, in the order of acceptance.
func (s *state) pendingItems(want func(*item) bool) []sessions.PendingItem {
	var found []*item
	for _, i := range s.pending {
		if want(i) {
			found = append(found, i)
		}
	}
	slices.SortFunc(found, func(a, b *item) int { return cmp.Compare(a.seq, b.seq) })
	items := make([]sessions.PendingItem, len(found))
	for n, i := range found {
		items[n] = i.clone()
	}
	return items
}

func (i *item) clone() sessions.PendingItem {
	c := i.PendingItem
	c.Payload = slices.Clone(c.Payload)
	return c
}

// undelivered returns copies of the rows that are not done, in the order of their commits.
func (s *state) undelivered() []sessions.Row {
	var found []*row
	for _, r := range s.rows {
		if !r.Done() {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.index, b.index))
	})
	rows := make([]sessions.Row, len(found))
	for i, r := range found {
		rows[i] = r.clone()
	}
	return rows
}

func (r *row) clone() sessions.Row {
	c := r.Row
	c.Payload = slices.Clone(c.Payload)
	c.Parts = slices.Clone(c.Parts)
	return c
}
