package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// convLog is a conversation's log in the hands of its owner: it appends at the last revision and keeps the fold. The
// actor and the running turn both write through it; the lock makes their records follow each other.
type convLog struct {
	store sessions.Store
	key   sessions.Key

	mu       sync.Mutex
	lease    sessions.Lease
	session  *sessions.Session
	revision sessions.Revision

	committed func(sessions.Record) // called with every record that was committed; nil = nobody wants to know
}

// openLog acquires a key and folds its log. It also returns what it found.
func openLog(ctx context.Context, store sessions.Store, key sessions.Key, owner string) (*convLog, sessions.Conversation, error) {
	conv, err := store.Acquire(ctx, key, owner)
	if err != nil {
		return nil, conv, err
	}
	session, err := sessions.Fold(key, conv.Records)
	if err != nil {
		return nil, conv, err
	}
	return &convLog{store: store, key: key, lease: conv.Lease, session: session, revision: conv.Revision}, conv, nil
}

// append commits a record, unless it cannot follow what is there: such a record would make the log unreadable. It is not cancelled half way: after a commit of unknown outcome the revision would be
// unknown too.
func (l *convLog) append(ctx context.Context, r sessions.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.At = time.Now()
	r.Entries = l.upToDate(r.Entries)
	if err := l.check(r); err != nil {
		return err
	}
	revision, err := l.store.Commit(context.WithoutCancel(ctx), sessions.Append{Lease: l.lease, After: l.revision, Record: r})
	if err != nil {
		return err
	}
	r.Revision, l.revision = revision, revision
	if l.committed != nil {
		l.committed(r)
	}
	return l.session.Apply(r)
}

// upToDate returns entries in which a compaction carries what people decided while it was being made: it must not bring a
// permission back that was revoked meanwhile.
func (l *convLog) upToDate(entries []sessions.Entry) []sessions.Entry {
	entries = slices.Clone(entries)
	for i, e := range entries {
		if c, ok := e.(sessions.Compaction); ok {
			c.Approvals, c.Notes, c.Settings = l.session.Approvals, l.session.Notes, l.session.Settings
			entries[i] = c
		}
	}
	return entries
}

// check tries a record on a copy of the fold's structure; the messages are left out, because copying them would make
// the cost of a commit grow with the history.
func (l *convLog) check(r sessions.Record) error {
	s := *l.session
	s.Messages = nil
	if s.Turn != nil {
		turn := *s.Turn
		turn.Open = slices.Clone(turn.Open)
		s.Turn = &turn
	}
	r.Revision = s.Revision + 1
	return s.Apply(r)
}

// snapshot returns the session as it is now. Later records do not change it.
func (l *convLog) snapshot() *sessions.Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session.Snapshot()
}

// last returns the revision of the last record that is known to be committed.
func (l *convLog) last() sessions.Revision {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.revision
}

// release gives the key back.
func (l *convLog) release(ctx context.Context) error {
	return l.store.Release(ctx, l.lease)
}
