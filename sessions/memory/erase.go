package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/talaria-agent/talaria/sessions"
)

func (s *Store) erase(ctx context.Context, c sessions.Erase) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	key := c.Lease.Key
	if s.leases[key] != c.Lease {
		return fmt.Errorf("erase %s: %w", key, sessions.ErrStale)
	}
	for id, i := range s.pending {
		if i.Key == key {
			delete(s.pending, id)
			s.consumed[id] = c.At
		}
	}
	maps.DeleteFunc(s.rows, func(_ sessions.RowID, r *row) bool { return r.Key == key })
	delete(s.logs, key)
	return nil
}

// Trim implements sessions.Store.
func (s *Store) Trim(ctx context.Context, key sessions.Key, before sessions.Revision) (int, error) {
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	l := s.logs[key]
	if l == nil {
		return 0, nil
	}
	n := 0
	for n < l.base && l.records[n].revision < before {
		r, err := sessions.DecodeRecord(l.records[n].data, l.records[n].revision)
		if err != nil {
			return 0, fmt.Errorf("trim %s: %w", key, err)
		}
		if s.needed(r) {
			break
		}
		n++
	}
	l.records, l.base = slices.Clone(l.records[n:]), l.base-n // somebody may be reading the old ones
	return n, nil
}

// needed tells whether an item or a row of a record is still remembered.
func (s *Store) needed(r sessions.Record) bool {
	_, claimed := r.Claims()
	for _, id := range slices.Concat(claimed, r.Consumed) {
		if _, consumed := s.consumed[id]; consumed || s.pending[id] != nil {
			return true
		}
	}
	return slices.ContainsFunc(r.Outbox, func(o sessions.Row) bool { return s.rows[o.ID] != nil })
}

// Size implements sessions.Store.
func (s *Store) Size(ctx context.Context) (size sessions.Size, err error) {
	if err := s.lock(ctx); err != nil {
		return size, err
	}
	defer s.mu.Unlock()
	for _, l := range s.logs {
		for _, r := range l.records {
			size.Total += int64(len(r.data))
		}
	}
	for _, i := range s.pending {
		size.Total += int64(len(i.Payload))
	}
	return size, nil
}
