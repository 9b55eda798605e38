package nats

import (
	"context"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/talaria-agent/talaria/sessions"
)

// erase publishes one message that replaces the whole log, and with that the conversation is gone from every projection.
// Then it removes from the stream what stands on other subjects: the items' payloads and the rows' marks.
func (s *Store) erase(ctx context.Context, c sessions.Erase) error {
	key := c.Lease.Key
	m := message{Key: key, Erase: &erase{Lease: c.Lease, At: c.At}}
	if _, err := s.publish(ctx, s.subjects.log(key), m, erasable(c.Lease)); err != nil {
		return err
	}
	s.mu.Lock()
	items, rows := s.state.left(key)
	s.mu.Unlock()
	for _, i := range items {
		_, err := s.publish(ctx, s.subjects.item(i.Item), message{Seen: &i}, func(*state) error { return nil })
		if err != nil {
			return err
		}
	}
	for _, id := range rows {
		if err := s.stream.Purge(ctx, jetstream.WithPurgeSubject(s.subjects.row(id))); err != nil {
			return fmt.Errorf("remove the marks of row %s: %w", id, err)
		}
		s.mu.Lock()
		delete(s.state.orphans, id)
		s.mu.Unlock()
	}
	return nil
}

// Trim implements sessions.Store.
func (s *Store) Trim(ctx context.Context, key sessions.Key, before sessions.Revision) (int, error) {
	limits, err := look(ctx, s, func(st *state) []sessions.Revision {
		return []sessions.Revision{st.trimmable(key, before)}
	})
	if err != nil {
		return 0, fmt.Errorf("trim %s: %w", key, err)
	}
	n, limit := 0, limits[0]
	for r, err := range s.History(ctx, key, 0) {
		if err != nil {
			return 0, fmt.Errorf("trim %s: %w", key, err)
		}
		if r.Revision >= limit {
			break
		}
		n++
	}
	if n == 0 {
		return 0, nil
	}
	subject := s.subjects.log(key)
	err = s.stream.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(uint64(limit)))
	if err == nil {
		err = s.dropParts(ctx, subject, uint64(limit))
	}
	if err != nil {
		return 0, fmt.Errorf("trim %s: %w", key, err)
	}
	return n, nil
}

// Size implements sessions.Store: what the stream takes on the server.
func (s *Store) Size(ctx context.Context) (sessions.Size, error) {
	if err := s.begin(ctx); err != nil {
		return sessions.Size{}, err
	}
	defer s.running.Done()
	info, err := s.stream.Info(ctx)
	if err != nil {
		return sessions.Size{}, fmt.Errorf("size of the stream: %w", err)
	}
	return sessions.Size{Total: int64(info.State.Bytes)}, nil
}

func erasable(l sessions.Lease) func(*state) error {
	return func(s *state) error {
		if s.leases[l.Key] != l {
			return sessions.ErrStale
		}
		return nil
	}
}

// erase moves the projection.
func (s *state) erase(key sessions.Key, e erase) {
	s.leases[key] = e.Lease
	delete(s.heads, key)
	for id, i := range s.pending {
		if i.Key == key {
			delete(s.pending, id)
			s.consumed[id] = gone{at: e.At, key: key}
		}
	}
	for id, i := range s.consumed {
		if i.key == key {
			i.by = 0
			s.consumed[id] = i
		}
	}
	for id, r := range s.rows {
		if r.log == key {
			delete(s.rows, id)
			s.orphans[id] = true
		}
	}
}

// left returns what is left in the stream of an erased conversation. Marks do not say whose they are, so all orphans are
// returned.
func (s *state) left(key sessions.Key) (items []seen, rows []sessions.RowID) {
	for id, i := range s.consumed {
		if i.key == key && !i.bare {
			items = append(items, seen{Item: id, At: i.at})
		}
	}
	for id := range s.orphans {
		rows = append(rows, id)
	}
	slices.Sort(rows)
	return items, rows
}

// trimmable returns the revision up to which the log can go: nothing from the last base on, and nothing that a replay of
// the stream would miss, because it says what became of an item or a row that is remembered.
func (s *state) trimmable(key sessions.Key, before sessions.Revision) sessions.Revision {
	limit := min(before, s.heads[key].base)
	for _, i := range s.pending {
		if i.Key == key && i.claimed > 0 {
			limit = min(limit, i.claimed)
		}
	}
	for _, i := range s.consumed {
		if i.key == key && i.by > 0 {
			limit = min(limit, i.by)
		}
	}
	for _, r := range s.rows {
		if r.log == key {
			limit = min(limit, sessions.Revision(r.seq))
		}
	}
	return limit
}
