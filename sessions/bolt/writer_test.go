package bolt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/talaria-agent/talaria/sessions"
)

// stopped opens a store whose writer does not run yet. Whoever wants it closed starts the writer first.
func stopped(t *testing.T) *Store {
	t.Helper()
	s, err := open(filepath.Join(t.TempDir(), "talaria.db"), false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func item(id string) sessions.Accept {
	return sessions.Accept{Item: sessions.Item{ID: sessions.ItemID(id), Key: "k", Payload: []byte(id)}}
}

func said(text string) sessions.Record {
	return sessions.Record{Entries: []sessions.Entry{
		sessions.UserMessage{Message: sessions.Message{Role: sessions.RoleUser, Text: text}},
	}}
}

// start commits in the background and returns where the error will be.
func start(s *Store, c sessions.Commit) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := s.Commit(context.Background(), c)
		done <- err
	}()
	return done
}

func (s *Store) lastTx(t *testing.T) int {
	t.Helper()
	tx, err := s.db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	return tx.ID()
}

func TestWhatIsQueuedSharesOneTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stopped(t)
		before := s.lastTx(t)
		var all []<-chan error
		for i := range 20 {
			all = append(all, start(s, item(fmt.Sprint(i%10)))) // each twice
		}
		synctest.Wait() // all are queued
		go s.write()
		failed := 0
		for _, done := range all {
			if err := <-done; errors.Is(err, sessions.ErrSeen) {
				failed++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if failed != 10 {
			t.Fatalf("%d of 20 accepts of 10 ids failed, want 10", failed)
		}
		if n := s.lastTx(t) - before; n != 1 {
			t.Fatalf("%d transactions for what was queued, want 1", n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestNothingChangedNeedsNoTransaction(t *testing.T) {
	s := stopped(t)
	go s.write()
	defer s.Close()
	if err := <-start(s, item("a")); err != nil {
		t.Fatal(err)
	}
	before := s.lastTx(t)
	if err := <-start(s, item("a")); !errors.Is(err, sessions.ErrSeen) {
		t.Fatal(err)
	}
	c, err := s.Acquire(t.Context(), "k", "o")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), c.Lease); err != nil {
		t.Fatal(err)
	}
	if n := s.lastTx(t) - before; n != 0 {
		t.Fatalf("%d transactions for a failed commit and a lease, want none", n)
	}
}

func TestAFullDiskFailsTheWholeBatchAndChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stopped(t)
		s.db.AllocSize = 4096
		tx, err := s.db.Begin(false)
		if err != nil {
			t.Fatal(err)
		}
		s.db.MaxSize = int(tx.Size()) + 64<<10
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		before := s.lastTx(t)

		big := item("big")
		big.Item.Payload = []byte(strings.Repeat("x", 1<<20))
		batch := []<-chan error{start(s, item("a")), start(s, big), start(s, item("b"))}
		synctest.Wait()
		go s.write()
		for i, done := range batch {
			if err := <-done; !errors.Is(err, bbolterrors.ErrMaxSizeReached) {
				t.Fatalf("commit %d = %v, want the cause", i, err)
			}
		}
		if n := s.lastTx(t) - before; n != 0 {
			t.Fatalf("%d transactions, want none", n)
		}
		for p, err := range s.Pending(t.Context()) {
			t.Fatalf("pending after the failure: %v, %v", p.ID, err)
		}
		// The store goes on with what fits.
		for _, id := range []string{"a", "b"} {
			if err := <-start(s, item(id)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestACommitDoesNotCostTheHistory counts the bytes that one turn of a conversation makes bbolt write, with a short
// and with a long history.
func TestACommitDoesNotCostTheHistory(t *testing.T) {
	s := stopped(t)
	s.db.NoSync = true // a crash is not what this is about
	go s.write()
	defer s.Close()
	ctx := t.Context()
	c, err := s.Acquire(ctx, "k", "o")
	if err != nil {
		t.Fatal(err)
	}
	rev := c.Revision
	turn := func(i int) int64 {
		t.Helper()
		before := s.db.Stats().TxStats
		id := fmt.Sprintf("%06d", i)
		r := said("the answer")
		r.Consumed = []sessions.ItemID{sessions.ItemID(id)}
		r.Outbox = []sessions.Row{{ID: sessions.RowID(id), Key: "k", Lane: "L", Parts: []sessions.Part{{State: sessions.Queued}}}}
		if err := <-start(s, item(id)); err != nil {
			t.Fatal(err)
		}
		if rev, err = s.Commit(ctx, sessions.Append{Lease: c.Lease, After: rev, Record: r}); err != nil {
			t.Fatal(err)
		}
		m := sessions.Mark{Row: sessions.RowID(id), From: sessions.Queued, To: sessions.Part{State: sessions.Sent}}
		if err := <-start(s, m); err != nil {
			t.Fatal(err)
		}
		after := s.db.Stats().TxStats
		diff := after.Sub(&before)
		return diff.GetPageAlloc()
	}
	worst := func(from, to int) (most int64) {
		for i := from; i < to; i++ {
			most = max(most, turn(i))
		}
		return most
	}
	short := worst(0, 200)
	for i := 200; i < 1200; i++ {
		turn(i)
	}
	long := worst(1200, 1400)
	t.Logf("bytes a turn at most: %d with 200 turns of history, %d with 1,200", short, long)
	if long > 2*short { // the trees get one level higher
		t.Fatalf("a turn writes %d bytes with a long history and %d with a short one", long, short)
	}
}
