// Package memory is the store engine for tests and the lab: everything is gone when the process ends.
//
// It starts no goroutine. One mutex guards all state and is never held while somebody waits or while an iterator
// yields; each iterator walks over a snapshot taken when the iteration begins. Revisions come from one sequence for
// all keys, so they have gaps, as the contract allows. Records are kept encoded: what goes in and what comes out
// shares no memory with the store.
package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// Store implements sessions.Store in memory.
type Store struct {
	mu       sync.Mutex
	closed   bool
	seq      uint64 // the last number given to a record, an item, a row or a lease
	leases   map[sessions.Key]sessions.Lease
	logs     map[sessions.Key]*log
	pending  map[sessions.ItemID]*item
	consumed map[sessions.ItemID]time.Time // when, by the record that consumed it
	rows     map[sessions.RowID]*row
	values   map[string][]byte
}

// log is what is there of one key.
type log struct {
	records []record
	base    int // index of the last base, 0 if there is none
}

type record struct {
	revision sessions.Revision
	data     []byte // never changed
}

type item struct {
	sessions.PendingItem
	seq uint64
}

type row struct {
	sessions.Row
	seq uint64
	at  time.Time
}

// New returns an empty store.
func New() *Store {
	return &Store{
		leases:   make(map[sessions.Key]sessions.Lease),
		logs:     make(map[sessions.Key]*log),
		pending:  make(map[sessions.ItemID]*item),
		consumed: make(map[sessions.ItemID]time.Time),
		rows:     make(map[sessions.RowID]*row),
		values:   make(map[string][]byte),
	}
}

var _ sessions.Store = (*Store)(nil)

// Acquire implements sessions.Store.
func (s *Store) Acquire(ctx context.Context, key sessions.Key, owner string) (sessions.Conversation, error) {
	if err := key.Validate(); err != nil {
		return sessions.Conversation{}, fmt.Errorf("acquire: %w", err)
	}
	if err := s.lock(ctx); err != nil {
		return sessions.Conversation{}, err
	}
	defer s.mu.Unlock()
	c := sessions.Conversation{Lease: sessions.Lease{Key: key, Owner: owner, Epoch: s.next()}}
	s.leases[key] = c.Lease
	if l := s.logs[key]; l != nil {
		for _, r := range l.records[l.base:] {
			d, err := sessions.DecodeRecord(r.data, r.revision)
			if err != nil {
				return sessions.Conversation{}, fmt.Errorf("acquire %s: %w", key, err)
			}
			c.Records = append(c.Records, d)
		}
		c.Revision = l.last()
	}
	c.Pending = s.pendingOf(func(i *item) bool { return i.Key == key })
	return c, nil
}

// Release implements sessions.Store.
func (s *Store) Release(ctx context.Context, lease sessions.Lease) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.leases[lease.Key] == lease {
		delete(s.leases, lease.Key)
	}
	return nil
}

// Prune implements sessions.Store.
func (s *Store) Prune(ctx context.Context, before time.Time) (int, error) {
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	n := 0
	for id, at := range s.consumed {
		if at.Before(before) {
			delete(s.consumed, id)
			n++
		}
	}
	for id, r := range s.rows {
		if r.Done() && r.at.Before(before) {
			delete(s.rows, id)
			n++
		}
	}
	return n, nil
}

// Close implements sessions.Store. To close twice is harmless.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// lock takes the mutex, unless the context has ended or the store is closed.
func (s *Store) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return sessions.ErrClosed
	}
	return nil
}

func (s *Store) next() uint64 {
	s.seq++
	return s.seq
}

func (l *log) last() sessions.Revision {
	if l == nil {
		return 0
	}
	return l.records[len(l.records)-1].revision
}
