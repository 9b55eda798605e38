// Package nats is a store engine for several processes: one JetStream stream, which all of them have open. No program
// uses it yet; it shows that the contract of sessions.Store fits a stream.
//
// # Stream
//
// Every commit is one publish, and its precondition is the expected last sequence of its subject:
//
//	NAME.item.ID    an item, expected to be the first message of its subject; later that it is forgotten
//	NAME.log.KEY    the records of a conversation, and its leases: when they are given and released
//	NAME.row.ID     the marks of an outbox row; later that it is forgotten
//	NAME.value.ID   a value; each replaces the one before
//	NAME.part....   a part of a message that is too big for the server (max_payload, 1 MiB by default); the message
//	                itself, on its own subject and with the precondition, says where its parts are
//
// ID and KEY are in base64url. A record's revision is its sequence, and so is a lease's epoch. As leases stand on the
// conversation's subject, a new one moves its last sequence, and the server itself refuses what an older owner
// publishes afterwards, even if the new owner has written nothing yet.
//
// # Goroutines and order
//
// Inbox, outbox, heads and leases are a projection in memory, which an ordered consumer rebuilds from the stream when
// the store is opened and keeps up to date. A commit checks the projection and then publishes with the sequence that
// the projection has seen; if the server refuses, or the projection does, the store catches up with the stream and
// checks again. So a refusal is never due to lagging behind, and a commit is in the projection when it returns. Reads
// catch up first. The consumer is the only goroutine here; Close waits for it and leaves the connection alone.
//
// # Limits
//
// Memory grows with the rows that have not been pruned. There is no backup from here: the server makes one of the stream
// (nats stream backup). What is forgotten leaves one small message in the stream, because a record that is replayed
// later would otherwise bring its rows back.
package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/talaria-agent/talaria/sessions"
)

// Store implements sessions.Store on a stream.
type Store struct {
	js       jetstream.JetStream
	stream   jetstream.Stream
	subjects subjects
	consumer jetstream.ConsumeContext
	running  sync.WaitGroup // calls that Close waits for
	close    func() error

	mu      sync.Mutex // never held while somebody waits
	closed  bool
	state   *state
	changed chan struct{} // closed and replaced whenever the state has changed
	broken  error         // why the projection cannot go on
}

var _ sessions.Store = (*Store)(nil)

// Open opens the store in the stream of that name, and makes the stream if it is not there. It returns when all that is
// there has been read.
func Open(ctx context.Context, js jetstream.JetStream, name string) (*Store, error) {
	s := &Store{js: js, subjects: subjects{name}, state: newState(), changed: make(chan struct{})}
	if err := s.open(ctx, name); err != nil {
		return nil, fmt.Errorf("open stream %s: %w", name, err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, name string) (err error) {
	s.stream, err = s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:        name,
		Subjects:    []string{s.subjects.all()},
		AllowRollup: true,
	})
	if err != nil {
		return err
	}
	consumer, err := s.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy})
	if err != nil {
		return err
	}
	if s.consumer, err = consumer.Consume(s.receive); err != nil {
		return err
	}
	s.close = sync.OnceValue(func() error {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.running.Wait()
		s.consumer.Stop()
		<-s.consumer.Closed()
		return nil
	})
	if err := s.sync(ctx); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// Close implements sessions.Store. The connection stays open.
func (s *Store) Close() error { return s.close() }

// begin starts a call, which ends with s.running.Done.
func (s *Store) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return sessions.ErrClosed
	}
	s.running.Add(1)
	return nil
}

// Commit implements sessions.Store.
func (s *Store) Commit(ctx context.Context, c sessions.Commit) (sessions.Revision, error) {
	if err := sessions.Validate(c); err != nil {
		return 0, err
	}
	if err := s.begin(ctx); err != nil {
		return 0, err
	}
	defer s.running.Done()
	switch c := c.(type) {
	case sessions.Accept:
		if _, err := s.publish(ctx, s.subjects.item(c.Item.ID), message{Item: &c.Item}, acceptable(c.Item.ID)); err != nil {
			return 0, fmt.Errorf("accept %s: %w", c.Item.ID, err)
		}
		return 0, nil
	case sessions.Append:
		data, err := c.Record.Encode()
		if err != nil {
			return 0, fmt.Errorf("append to %s: %w", c.Lease.Key, err)
		}
		m := message{Key: c.Lease.Key, Record: data}
		seq, err := s.publish(ctx, s.subjects.log(c.Lease.Key), m, appendable(c))
		if err != nil {
			return 0, fmt.Errorf("append to %s after %d: %w", c.Lease.Key, c.After, err)
		}
		return sessions.Revision(seq), nil
	case sessions.Mark:
		if _, err := s.publish(ctx, s.subjects.row(c.Row), message{Mark: &c}, markable(c)); err != nil {
			return 0, fmt.Errorf("mark part %d of row %s from %s: %w", c.Part, c.Row, c.From, err)
		}
		return 0, nil
	case sessions.Set:
		m := message{Value: &value{Name: c.Name, Data: c.Value}}
		if _, err := s.publish(ctx, s.subjects.value(c.Name), m, settable(c)); err != nil {
			return 0, fmt.Errorf("set %s: %w", c.Name, err)
		}
		return 0, nil
	case sessions.Erase:
		if err := s.erase(ctx, c); err != nil {
			return 0, fmt.Errorf("erase %s: %w", c.Lease.Key, err)
		}
		return 0, nil
	}
	panic("unreachable: Validate knows all commits")
}

// Acquire implements sessions.Store.
func (s *Store) Acquire(ctx context.Context, key sessions.Key, owner string) (c sessions.Conversation, err error) {
	if err := key.Validate(); err != nil {
		return c, fmt.Errorf("acquire: %w", err)
	}
	if err := s.begin(ctx); err != nil {
		return c, err
	}
	defer s.running.Done()
	m := message{Key: key, Lease: &lease{Owner: owner}}
	epoch, err := s.publish(ctx, s.subjects.log(key), m, func(*state) error { return nil })
	if err != nil {
		return c, fmt.Errorf("acquire %s: %w", key, err)
	}
	c.Lease = sessions.Lease{Key: key, Owner: owner, Epoch: epoch}

	s.mu.Lock()
	head := s.state.heads[key]
	c.Pending = s.state.pendingItems(func(i *item) bool { return i.Key == key })
	s.mu.Unlock()
	c.Revision = head.last
	for next := head.base; next > 0 && next <= head.last; {
		r, err := s.record(ctx, key, next)
		if err != nil || r.Revision == 0 {
			return sessions.Conversation{}, errors.Join(fmt.Errorf("acquire %s: read records", key), err)
		}
		c.Records = append(c.Records, r)
		next = r.Revision + 1
	}
	return c, nil
}

// Release implements sessions.Store.
func (s *Store) Release(ctx context.Context, l sessions.Lease) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.running.Done()
	m := message{Key: l.Key, Lease: &lease{Released: true}}
	_, err := s.publish(ctx, s.subjects.log(l.Key), m, func(st *state) error {
		if st.leases[l.Key] != l {
			return sessions.ErrStale
		}
		return nil
	})
	if err != nil && !errors.Is(err, sessions.ErrStale) {
		return fmt.Errorf("release %s: %w", l.Key, err)
	}
	return nil
}

// Prune implements sessions.Store. It publishes once for each thing that it forgets.
func (s *Store) Prune(ctx context.Context, before time.Time) (int, error) {
	if err := s.begin(ctx); err != nil {
		return 0, err
	}
	defer s.running.Done()
	if err := s.sync(ctx); err != nil {
		return 0, fmt.Errorf("prune: %w", err)
	}
	s.mu.Lock()
	all := s.state.forgettable(before)
	s.mu.Unlock()
	n := 0
	for _, f := range all {
		subject := s.subjects.item(f.Item)
		if f.Row != "" {
			subject = s.subjects.row(f.Row)
		}
		_, err := s.publish(ctx, subject, message{Forget: &f}, func(st *state) error { return st.checkForget(f, before) })
		switch {
		case err == nil:
			n++
		case !errors.Is(err, sessions.ErrState): // somebody else was faster, or the row is wanted again
			return n, fmt.Errorf("prune: %w", err)
		}
	}
	if err := s.dropOrphans(ctx); err != nil {
		return n, fmt.Errorf("prune: %w", err)
	}
	return n, nil
}
