package storetest

import (
	"testing"

	"github.com/talaria-agent/talaria/sessions"
)

func leaseNeeded(t *testing.T, h Harness) {
	s := h.Store
	wantErr(t, s, sessions.Append{Lease: sessions.Lease{Key: "k"}, Record: said("no")}, sessions.ErrStale)
	wantErr(t, s, sessions.Append{Lease: sessions.Lease{Key: "k", Owner: "o", Epoch: 1}, Record: said("no")}, sessions.ErrStale)

	// A lease is for its own key, with its own owner, and ends with its release.
	l := acquire(t, s, "k", "o").Lease
	for _, other := range []sessions.Lease{
		{Key: "k2", Owner: "o", Epoch: l.Epoch},
		{Key: "k", Owner: "o2", Epoch: l.Epoch},
		{Key: "k", Owner: "o", Epoch: l.Epoch + 1},
	} {
		wantErr(t, s, sessions.Append{Lease: other, Record: said("no")}, sessions.ErrStale)
	}
	rev := commit(t, s, sessions.Append{Lease: l, Record: said("yes")})
	release(t, s, l)
	wantErr(t, s, sessions.Append{Lease: l, After: rev, Record: said("no")}, sessions.ErrStale)
	release(t, s, l)
	diff(t, "records", texts(acquire(t, s, "k", "o").Records), []string{"yes"})
}

// handOver: B sees all that A did, and A can do no more.
func handOver(t *testing.T, a, b sessions.Store) {
	accept(t, a, "k", "i1", "i2")
	la := acquire(t, a, "k", "A").Lease
	rev := commit(t, a, sessions.Append{Lease: la, Record: claiming("t1", "i1")})
	rev = commit(t, a, sessions.Append{Lease: la, After: rev, Record: sending(newRow("r", "k", "lane", sessions.Queued))})
	accept(t, a, "k", "i3")

	c := acquire(t, b, "k", "B")
	diff(t, "B's revision", c.Revision, rev)
	diff(t, "B's records", c.Records, collect(t, a.History(t.Context(), "k", 0)))
	diff(t, "B's pending items", c.Pending, []sessions.PendingItem{
		{Item: newItem("i1", "k"), Turn: "t1"}, {Item: newItem("i2", "k")}, {Item: newItem("i3", "k")},
	})
	wantState(t, b, "r", sessions.Queued)

	revB := commit(t, b, sessions.Append{Lease: c.Lease, After: rev, Record: said("B")})
	wantErr(t, a, sessions.Append{Lease: la, After: rev, Record: said("A")}, sessions.ErrStale)
	wantErr(t, a, sessions.Append{Lease: la, After: revB, Record: said("A")}, sessions.ErrStale)

	// And back.
	c = acquire(t, a, "k", "A")
	if c.Lease.Epoch <= la.Epoch {
		t.Fatalf("epoch %d after %d", c.Lease.Epoch, la.Epoch)
	}
	commit(t, a, sessions.Append{Lease: c.Lease, After: c.Revision, Record: said("A")})
	diff(t, "history", texts(collect(t, b.History(t.Context(), "k", 0))), []string{"answer", "B", "A"})
}

// handOverBeforeWrite: A's next append fails although B has written nothing yet.
func handOverBeforeWrite(t *testing.T, a, b sessions.Store) {
	la, rev := write(t, a, "k", said("A"))
	lb := acquire(t, b, "k", "B").Lease
	wantErr(t, a, sessions.Append{Lease: la, After: rev, Record: said("late")}, sessions.ErrStale)
	commit(t, b, sessions.Append{Lease: lb, After: rev, Record: said("B")})

	// The same for a key that nobody has written to.
	la = acquire(t, a, "new", "A").Lease
	lb = acquire(t, b, "new", "B").Lease
	wantErr(t, a, sessions.Append{Lease: la, Record: said("late")}, sessions.ErrStale)
	commit(t, b, sessions.Append{Lease: lb, Record: said("B")})
}

func lateRelease(t *testing.T, a, b sessions.Store) {
	la, rev := write(t, a, "k", said("A"))
	lb := acquire(t, b, "k", "B").Lease
	release(t, a, la)
	rev = commit(t, b, sessions.Append{Lease: lb, After: rev, Record: said("B")})
	release(t, a, la)
	commit(t, b, sessions.Append{Lease: lb, After: rev, Record: said("B again")})
}

// knownRevision: a stale owner that learns the newest revision still cannot append.
func knownRevision(t *testing.T, a, b sessions.Store) {
	la, rev := write(t, a, "k", said("A"))
	lb := acquire(t, b, "k", "B").Lease
	rev = commit(t, b, sessions.Append{Lease: lb, After: rev, Record: said("B")})
	wantErr(t, a, sessions.Append{Lease: la, After: rev, Record: said("late")}, sessions.ErrStale)
	release(t, b, lb)
	wantErr(t, a, sessions.Append{Lease: la, After: rev, Record: said("late")}, sessions.ErrStale)
	diff(t, "history", texts(collect(t, a.History(t.Context(), "k", 0))), []string{"A", "B"})
}

func sameOwnerTwice(t *testing.T, h Harness) {
	s := h.Store
	old := acquire(t, s, "k", "o").Lease
	l := acquire(t, s, "k", "o").Lease
	wantErr(t, s, sessions.Append{Lease: old, Record: said("no")}, sessions.ErrStale)
	release(t, s, old)
	commit(t, s, sessions.Append{Lease: l, Record: said("yes")})
}

func release(t tb, s sessions.Store, l sessions.Lease) {
	t.Helper()
	if err := s.Release(t.Context(), l); err != nil {
		t.Fatalf("release: %v", err)
	}
}
