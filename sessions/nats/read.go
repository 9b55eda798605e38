package nats

import (
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
		for after < ^sessions.Revision(0) {
			r, err := s.recordAfter(ctx, key, after)
			if err != nil {
				yield(sessions.Record{}, fmt.Errorf("history of %s: %w", key, err))
				return
			}
			if r.Revision == 0 || !yield(r, nil) {
				return
			}
			after = r.Revision
		}
	}
}

func (s *Store) recordAfter(ctx context.Context, key sessions.Key, after sessions.Revision) (sessions.Record, error) {
	if err := s.begin(ctx); err != nil {
		return sessions.Record{}, err
	}
	defer s.running.Done()
	return s.record(ctx, key, after+1)
}

// Keys implements sessions.Store.
func (s *Store) Keys(ctx context.Context) iter.Seq2[sessions.Key, error] {
	return snapshot(ctx, s, func(st *state) []sessions.Key { return slices.Sorted(maps.Keys(st.heads)) })
}

// Pending implements sessions.Store.
func (s *Store) Pending(ctx context.Context) iter.Seq2[sessions.PendingItem, error] {
	return snapshot(ctx, s, func(st *state) []sessions.PendingItem {
		return st.pendingItems(func(*item) bool { return true })
	})
}

// Item implements sessions.Store.
func (s *Store) Item(ctx context.Context, id sessions.ItemID) (sessions.PendingItem, error) {
	found, err := look(ctx, s, func(st *state) (items []sessions.PendingItem) {
		if i := st.pending[id]; i != nil {
			items = append(items, i.clone())
		}
		return items
	})
	if err == nil && len(found) == 0 {
		err = sessions.ErrState
	}
	if err != nil {
		return sessions.PendingItem{}, fmt.Errorf("item %s: %w", id, err)
	}
	return found[0], nil
}

// Undelivered implements sessions.Store.
func (s *Store) Undelivered(ctx context.Context) iter.Seq2[sessions.Row, error] {
	return snapshot(ctx, s, (*state).undelivered)
}

// Row implements sessions.Store.
func (s *Store) Row(ctx context.Context, id sessions.RowID) (sessions.Row, error) {
	found, err := look(ctx, s, func(st *state) (rows []sessions.Row) {
		if r := st.rows[id]; r != nil {
			rows = append(rows, r.clone())
		}
		return rows
	})
	if err == nil && len(found) == 0 {
		err = sessions.ErrState
	}
	if err != nil {
		return sessions.Row{}, fmt.Errorf("row %s: %w", id, err)
	}
	return found[0], nil
}

// Value implements sessions.Store.
func (s *Store) Value(ctx context.Context, name string) ([]byte, error) {
	found, err := look(ctx, s, func(st *state) [][]byte { return [][]byte{slices.Clone(st.values[name])} })
	if err != nil {
		return nil, fmt.Errorf("value %s: %w", name, err)
	}
	return found[0], nil
}

// look catches up with the stream and returns what take makes of the state.
func look[T any](ctx context.Context, s *Store, take func(*state) []T) ([]T, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.running.Done()
	if err := s.sync(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return take(s.state), nil
}

// snapshot yields what take returns when the iteration begins.
func snapshot[T any](ctx context.Context, s *Store, take func(*state) []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		all, err := look(ctx, s, take)
		for _, v := range all {
			if err = ctx.Err(); err != nil {
				break
			}
			if !yield(v, nil) {
				return
			}
		}
		if err != nil {
			var zero T
			yield(zero, err)
		}
	}
}
