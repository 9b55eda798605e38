package bolt

import (
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/sessions"
)

// request is an operation for the writer, and where the answer goes.
type request struct {
	op     op
	answer chan error // with room for the answer: the writer never waits for somebody who has left
}

// op is what the writer does in its transaction. Results stand in the op's fields, to be read after the answer.
type op interface {
	// check tests the precondition and prepares everything that can fail for a reason of this op. It only reads.
	check(s *Store, tx *bbolt.Tx) error
	// put changes the leases or the buckets, and tells whether it changed the buckets. What it does to the buckets depends
	// on nothing but them and what check has prepared, so that it can be done again in a copy. An error is one of the file
	// and fails the whole batch.
	put(s *Store, tx *bbolt.Tx) (changed bool, err error)
}

// do has the writer do an operation and returns its error. After the context's error the writer may still do it.
func (s *Store) do(ctx context.Context, o op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := request{op: o, answer: make(chan error, 1)}
	select {
	case s.requests <- r:
	case <-s.quit:
		return sessions.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write is the writer goroutine.
func (s *Store) write() {
	defer close(s.done)
	for {
		select {
		case r := <-s.requests:
			s.batch(s.queued(r))
		case f := <-s.between:
			f()
		case <-s.probe:
			s.lookForRoom()
		case <-s.quit:
			return
		}
	}
}

// exclusively has the writer run f between two batches.
func (s *Store) exclusively(ctx context.Context, f func() error) error {
	answer := make(chan error, 1)
	select {
	case s.between <- func() { answer <- f() }:
		return <-answer
	case <-s.quit:
		return sessions.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// queued returns the request and all others that wait to be taken.
func (s *Store) queued(first request) []request {
	all := []request{first}
	for {
		select {
		case r := <-s.requests:
			all = append(all, r)
		default:
			return all
		}
	}
}

// batch does all requests in one transaction and answers them. If there turns out to be no room for it, what ends running
// work is tried once more with the room that the ballast gives.
func (s *Store) batch(requests []request) {
	refused := make([]error, len(requests))
	if s.full.Load() {
		refuseNew(requests, refused)
	}
	err := s.transact(requests, refused)
	if noRoom(err) {
		s.runFull()
		clear(refused)
		refuseNew(requests, refused)
		if err = s.transact(requests, refused); noRoom(err) {
			err = fmt.Errorf("%w: %w", sessions.ErrFull, err)
		}
	}
	for i, r := range requests {
		switch {
		case refused[i] != nil:
			r.answer <- refused[i]
		default:
			r.answer <- err
		}
	}
}

func (s *Store) transact(requests []request, refused []error) error {
	return s.guard(func() error {
		s.wedged = true
		tx, err := s.db.Begin(true)
		if err != nil {
			s.wedged = false
			return fmt.Errorf("begin transaction: %w", err)
		}
		defer func() {
			_ = tx.Rollback() // does nothing after a commit
			s.wedged = false
		}()
		return s.run(tx, requests, refused)
	})
}

// run does what can be done of the requests and commits it.
func (s *Store) run(tx *bbolt.Tx, requests []request, refused []error) error {
	var changed []op
	for i, r := range requests {
		if refused[i] != nil {
			continue
		}
		if refused[i] = r.op.check(s, tx); refused[i] != nil {
			continue
		}
		c, err := r.op.put(s, tx)
		if err != nil {
			return fmt.Errorf("write to database: %w", err)
		}
		if c {
			changed = append(changed, r.op)
		}
	}
	if len(changed) == 0 {
		return nil // leases only, or nothing: no sync
	}
	if err := s.commit(tx); err != nil {
		s.journal.spoil(err)
		return fmt.Errorf("write to database: %w", err)
	}
	s.journal.add(changed)
	return nil
}
