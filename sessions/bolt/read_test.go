package bolt

import (
	"errors"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/sessions"
)

// TestReadsOnlyWhatIsWanted spoils everything that a read has no need of: consumed and done things, what stands before
// the last base, and other keys. A read that touched any of it would fail to decode it.
func TestReadsOnlyWhatIsWanted(t *testing.T) {
	s := stopped(t)
	go s.write()
	defer s.Close()
	ctx := t.Context()
	row := func(id sessions.RowID, state sessions.State) sessions.Row {
		return sessions.Row{ID: id, Key: "k", Lane: "L", Parts: []sessions.Part{{State: state}}}
	}
	reset := said("after")
	reset.Entries = append([]sessions.Entry{sessions.Reset{}}, reset.Entries...)
	old := said("before")
	old.Consumed = []sessions.ItemID{"old"}
	old.Outbox = []sessions.Row{row("done", sessions.Sent), row("open", sessions.Queued)}
	for _, id := range []string{"old", "new"} {
		if _, err := s.Commit(ctx, item(id)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := s.Acquire(ctx, "k", "o")
	if err != nil {
		t.Fatal(err)
	}
	rev := c.Revision
	for _, r := range []sessions.Record{old, reset, said("and more")} {
		if rev, err = s.Commit(ctx, sessions.Append{Lease: c.Lease, After: rev, Record: r}); err != nil {
			t.Fatal(err)
		}
	}
	err = s.db.Update(func(tx *bbolt.Tx) error {
		spoilt := []byte("spoilt")
		return errors.Join(
			tx.Bucket(recordsBucket).Put(recordKey("k", 1), spoilt),
			tx.Bucket(recordsBucket).Put(recordKey("k2", 1), spoilt),
			tx.Bucket(recordsBucket).Put(recordKey("a", 9), spoilt),
			tx.Bucket(rowsBucket).Put([]byte("done"), spoilt),
		)
	})
	if err != nil {
		t.Fatal(err)
	}

	if c, err = s.Acquire(ctx, "k", "o"); err != nil {
		t.Fatal(err)
	}
	if len(c.Records) != 2 || c.Revision != 3 || len(c.Pending) != 1 {
		t.Fatalf("%d records, revision %d, %d pending; want 2, 3, 1", len(c.Records), c.Revision, len(c.Pending))
	}
	var open []sessions.RowID
	for r, err := range s.Undelivered(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, r.ID)
	}
	if !slices.Equal(open, []sessions.RowID{"open"}) {
		t.Fatalf("undelivered %q", open)
	}
	var last error
	for _, err := range s.History(ctx, "k", 0) {
		last = err
	}
	if last == nil {
		t.Fatal("history did not notice the spoilt record")
	}
}
