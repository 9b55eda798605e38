package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/talaria-agent/talaria/sessions"
)

// Commit implements sessions.Store.
func (s *Store) Commit(ctx context.Context, c sessions.Commit) (sessions.Revision, error) {
	if err := sessions.Validate(c); err != nil {
		return 0, err
	}
	switch c := c.(type) {
	case sessions.Accept:
		return 0, s.accept(ctx, c.Item)
	case sessions.Append:
		return s.append(ctx, c)
	case sessions.Mark:
		return 0, s.mark(ctx, c)
	case sessions.Set:
		return 0, s.set(ctx, c)
	case sessions.Erase:
		return 0, s.erase(ctx, c)
	}
	panic("unreachable: Validate knows all commits")
}

func (s *Store) accept(ctx context.Context, i sessions.Item) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	_, consumed := s.consumed[i.ID]
	if consumed || s.pending[i.ID] != nil {
		return fmt.Errorf("accept %s: %w", i.ID, sessions.ErrSeen)
	}
	i.Payload = bytes.Clone(i.Payload)
	s.pending[i.ID] = &item{PendingItem: sessions.PendingItem{Item: i}, seq: s.next()}
	return nil
}

func (s *Store) append(ctx context.Context, c sessions.Append) (sessions.Revision, error) {
	data, err := c.Record.Encode()
	if err != nil {
		return 0, fmt.Errorf("append to %s: %w", c.Lease.Key, err)
	}
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	l := s.logs[c.Lease.Key]
	if s.leases[c.Lease.Key] != c.Lease || l.last() != c.After {
		return 0, fmt.Errorf("append to %s after %d: %w", c.Lease.Key, c.After, sessions.ErrStale)
	}
	for _, r := range c.Record.Outbox {
		if s.rows[r.ID] != nil {
			return 0, fmt.Errorf("append to %s: row %s exists", c.Lease.Key, r.ID)
		}
	}

	if l == nil {
		l = &log{}
		s.logs[c.Lease.Key] = l
	}
	rev := sessions.Revision(s.next())
	if c.Record.Base() {
		l.base = len(l.records)
	}
	l.records = append(l.records, record{rev, data})
	s.project(c.Record)
	return rev, nil
}

// project moves inbox and outbox by what a new record says.
func (s *Store) project(r sessions.Record) {
	turn, claimed := r.Claims()
	for _, id := range claimed {
		if i := s.pending[id]; i != nil {
			i.Turn = turn
		}
	}
	for _, id := range r.Consumed {
		if s.pending[id] != nil {
			delete(s.pending, id)
			s.consumed[id] = r.At
		}
	}
	for _, o := range r.Outbox {
		s.rows[o.ID] = &row{Row: cloneRow(o), seq: s.next(), at: r.At}
	}
}

func (s *Store) mark(ctx context.Context, m sessions.Mark) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	r := s.rows[m.Row]
	if r == nil || m.Part < 0 || m.Part >= len(r.Parts) || r.Parts[m.Part].State != m.From {
		return fmt.Errorf("mark part %d of row %s from %s: %w", m.Part, m.Row, m.From, sessions.ErrState)
	}
	r.Parts[m.Part] = m.To
	return nil
}

func (s *Store) set(ctx context.Context, c sessions.Set) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if !bytes.Equal(s.values[c.Name], c.Was) {
		return fmt.Errorf("set %s: %w", c.Name, sessions.ErrState)
	}
	s.values[c.Name] = bytes.Clone(c.Value)
	return nil
}

func cloneRow(r sessions.Row) sessions.Row {
	r.Payload = bytes.Clone(r.Payload)
	r.Parts = slices.Clone(r.Parts)
	return r
}
