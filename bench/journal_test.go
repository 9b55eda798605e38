package bench

import (
	"context"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// journal is the least loop.Journal over a store.
type journal struct {
	store   sessions.Store
	lease   sessions.Lease
	session *sessions.Session
	commits int
}

func newJournal(b *testing.B, store sessions.Store, key sessions.Key) *journal {
	conv, err := store.Acquire(context.Background(), key, "bench")
	if err != nil {
		b.Fatal(err)
	}
	session, err := sessions.Fold(key, conv.Records)
	if err != nil {
		b.Fatal(err)
	}
	return &journal{store: store, lease: conv.Lease, session: session}
}

func (j *journal) Session() *sessions.Session { return j.session }

func (j *journal) Append(ctx context.Context, entries ...sessions.Entry) error {
	r := sessions.Record{At: time.Now(), Entries: entries}
	revision, err := j.store.Commit(ctx, sessions.Append{Lease: j.lease, After: j.session.Revision, Record: r})
	if err != nil {
		return err
	}
	j.commits++
	r.Revision = revision
	return j.session.Apply(r)
}

func (j *journal) End(ctx context.Context, _ loop.Outcome, entries ...sessions.Entry) error {
	return j.Append(ctx, entries...)
}

// volatile is a journal that keeps nothing but the session.
type volatile struct{ session *sessions.Session }

func (j volatile) Session() *sessions.Session { return j.session }

func (j volatile) Append(_ context.Context, entries ...sessions.Entry) error {
	return j.session.Apply(sessions.Record{Revision: j.session.Revision + 1, At: time.Now(), Entries: entries})
}

func (j volatile) End(ctx context.Context, _ loop.Outcome, entries ...sessions.Entry) error {
	return j.Append(ctx, entries...)
}
