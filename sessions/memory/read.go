package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/talaria-agent/talaria/sessions"
)

// History implements sessions.Store.
func (s *Store) History(ctx context.Context, key sessions.Key, after sessions.Revision) iter.Seq2[sessions.Record, error] {
	return func(yield func(sessions.Record, error) bool) {
		var records []record
		if err := s.lock(ctx); err != nil {
			yield(sessions.Record{}, err)
			return
		}
		if l := s.logs[key]; l != nil {
			records = l.records // only ever appended to
		}
		s.mu.Unlock()
		for _, r := range records {
			if r.revision <= after {
				continue
			}
			d, err := sessions.DecodeRecord(r.data, r.revision)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(sessions.Record{}, fmt.Errorf("history of %s: %w", key, err))
				return
			}
			if !yield(d, nil) {
				return
			}
		}
	}
}

// Keys implements sessions.Store.
func (s *Store) Keys(ctx context.Context) iter.Seq2[sessions.Key, error] {
	return snapshot(ctx, s, func() []sessions.Key { return slices.Sorted(maps.Keys(s.logs)) })
}

// Pending implements sessions.Store.
func (s *Store) Pending(ctx context.Context) iter.Seq2[sessions.PendingItem, error] {
	return snapshot(ctx, s, func() []sessions.PendingItem {
		return s.pendingOf(func(*item) bool { return true })
	})
}

// Item implements sessions.Store.
func (s *Store) Item(ctx context.Context, id sessions.ItemID) (sessions.PendingItem, error) {
	if err := s.lock(ctx); err != nil {
		return sessions.PendingItem{}, err
	}
	defer s.mu.Unlock()
	i := s.pending[id]
	if i == nil {
		return sessions.PendingItem{}, fmt.Errorf("item %s: %w", id, sessions.ErrState)
	}
	found := i.PendingItem
	found.Payload = bytes.Clone(found.Payload)
	return found, nil
}

// Undelivered implements sessions.Store.
func (s *Store) Undelivered(ctx context.Context) iter.Seq2[sessions.Row, error] {
	return snapshot(ctx, s, func() []sessions.Row {
		var open []*row
		for _, r := range s.rows {
			if !r.Done() {
				open = append(open, r)
			}
		}
		slices.SortFunc(open, func(a, b *row) int { return cmp.Compare(a.seq, b.seq) })
		rows := make([]sessions.Row, len(open))
		for i, r := range open {
			rows[i] = cloneRow(r.Row)
		}
		return rows
	})
}

// Row implements sessions.Store.
func (s *Store) Row(ctx context.Context, id sessions.RowID) (sessions.Row, error) {
	if err := s.lock(ctx); err != nil {
		return sessions.Row{}, err
	}
	defer s.mu.Unlock()
	r := s.rows[id]
	if r == nil {
		return sessions.Row{}, fmt.Errorf("row %s: %w", id, sessions.ErrState)
	}
	return cloneRow(r.Row), nil
}

// Value implements sessions.Store.
func (s *Store) Value(ctx context.Context, name string) ([]byte, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return bytes.Clone(s.values[name]), nil
}

// pendingOf returns copies of the pending items that are wanted, in the order of acceptance. The mutex is held.
func (s *Store) pendingOf(want func(*item) bool) []sessions.PendingItem {
	var found []*item
	for _, i := range s.pending {
		if want(i) {
			found = append(found, i)
		}
	}
	slices.SortFunc(found, func(a, b *item) int { return cmp.Compare(a.seq, b.seq) })
	items := make([]sessions.PendingItem, len(found))
	for n, i := range found {
		items[n] = i.PendingItem
		items[n].Payload = bytes.Clone(i.Payload)
	}
	return items
}

// snapshot returns a sequence of what take returns when the iteration begins. The mutex is held during take only.
func snapshot[T any](ctx context.Context, s *Store, take func() []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		if err := s.lock(ctx); err != nil {
			yield(zero, err)
			return
		}
		all := take()
		s.mu.Unlock()
		for _, v := range all {
			if err := ctx.Err(); err != nil {
				yield(zero, err)
				return
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}
