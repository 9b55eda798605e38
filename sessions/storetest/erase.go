package storetest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// eraseAll fills two conversations, erases one, and wants the other as it was.
func eraseAll(t *testing.T, h Harness) {
	s := h.Store
	accept(t, s, "k", "i1", "i2", "i3")
	accept(t, s, "other", "o1")
	r := claiming("t", "i1", "i2")
	r.Consumed = []sessions.ItemID{"i1"}
	r.Outbox = []sessions.Row{newRow("r1", "k", "L", sessions.Sent), newRow("r2", "k", "L", sessions.Queued)}
	l, _ := write(t, s, "k", said("secret"), r)
	commit(t, s, sessions.Mark{Row: "r2", From: sessions.Queued, To: sessions.Part{State: sessions.Sending}})
	write(t, s, "other", sending(newRow("r3", "other", "L", sessions.Queued)))

	wantErr(t, s, sessions.Erase{Lease: sessions.Lease{Key: "other", Owner: "nobody", Epoch: 1}, At: start}, sessions.ErrStale)
	commit(t, s, sessions.Erase{Lease: l, At: start})
	erased := func(s sessions.Store) {
		t.Helper()
		diff(t, "keys", collect(t, s.Keys(t.Context())), []sessions.Key{"other"})
		diff(t, "records", collect(t, s.History(t.Context(), "k", 0)), []sessions.Record(nil))
		diff(t, "pending", pendingIDs(t, s), []sessions.ItemID{"o1"})
		wantLanes(t, s, map[string][]sessions.RowID{"L": {"r3"}})
		for _, id := range []sessions.RowID{"r1", "r2"} {
			if _, err := s.Row(t.Context(), id); !errors.Is(err, sessions.ErrState) {
				t.Fatalf("row %s: %v", id, err)
			}
		}
		for _, id := range []sessions.ItemID{"i1", "i2", "i3"} { // the platform may repeat them
			wantErr(t, s, sessions.Accept{Item: newItem(id, "k")}, sessions.ErrSeen)
		}
	}
	erased(s)
	commit(t, s, sessions.Erase{Lease: l, At: start}) // once more
	erased(s)
	if h.Reopen != nil {
		closeStore(t, s)
		s = h.Reopen(t)
		erased(s)
		l = acquire(t, s, "k", "writer").Lease
	}

	// The conversation begins anew.
	commit(t, s, sessions.Append{Lease: l, Record: said("hello again")})
	c := acquire(t, s, "k", "o")
	diff(t, "texts", texts(c.Records), []string{"hello again"})
	wantErr(t, s, sessions.Erase{Lease: l, At: start}, sessions.ErrStale) // the lease of before
	wantPruned(t, s, start.Add(time.Hour), 3)
	accept(t, s, "k", "i2")
}

func trimAll(t *testing.T, h Harness) {
	s := h.Store
	accept(t, s, "k", "i1")
	answered := sending(newRow("r1", "k", "L", sessions.Queued))
	answered.Consumed = []sessions.ItemID{"i1"}
	reset := said("after the reset")
	reset.Entries = append([]sessions.Entry{sessions.Reset{By: "U1", At: start}}, reset.Entries...)
	write(t, s, "k", said("first"), answered, said("third"), reset, said("last"))
	wantTrimmed := func(before sessions.Revision, want int) {
		t.Helper()
		n, err := s.Trim(t.Context(), "k", before)
		if err != nil || n != want {
			t.Fatalf("trim before %d = %d, %v; want %d", before, n, err, want)
		}
	}
	history := collect(t, s.History(t.Context(), "k", 0))
	end := history[len(history)-1].Revision
	wantTrimmed(history[0].Revision, 0)
	wantTrimmed(history[1].Revision, 1)
	wantTrimmed(end, 0) // the row is under way
	commit(t, s, sessions.Mark{Row: "r1", From: sessions.Queued, To: sessions.Part{State: sessions.Sent}})
	wantPruned(t, s, start.Add(time.Hour), 2)
	wantTrimmed(end, 2)
	wantTrimmed(end, 0)
	diff(t, "history", collect(t, s.History(t.Context(), "k", 0)), history[3:])
	if h.Reopen != nil {
		closeStore(t, s)
		s = h.Reopen(t)
		diff(t, "history", collect(t, s.History(t.Context(), "k", 0)), history[3:])
	}
	c := acquire(t, s, "k", "o")
	diff(t, "conversation", c.Records, history[3:])
	commit(t, s, sessions.Append{Lease: c.Lease, After: end, Record: said("goes on")})
	if n, err := s.Trim(t.Context(), "unknown", 7); n != 0 || err != nil {
		t.Fatalf("trim of nothing = %d, %v", n, err)
	}
}

// sizes: what is written shows, and erasing gives the room back sooner or later.
func sizes(t *testing.T, h Harness) {
	size := func() int64 {
		t.Helper()
		size, err := h.Store.Size(t.Context())
		if err != nil || size.Free < 0 || size.Free > size.Total {
			t.Fatalf("size %+v, %v", size, err)
		}
		return size.Used()
	}
	before := size()
	l, _ := write(t, h.Store, "k", said(strings.Repeat("x", 3<<20)))
	if grown := size() - before; grown < 3<<20 || grown > 6<<20 {
		t.Fatalf("3 MiB took %d bytes", grown)
	}
	commit(t, h.Store, sessions.Erase{Lease: l, At: start})
	accept(t, h.Store, "k", "i") // an engine may need a commit to see what has become free
	if left := size() - before; left > 1<<20 {
		t.Fatalf("%d bytes are left of 3 MiB", left)
	}
}

// bigRecord goes through every way in which records are read.
func bigRecord(t *testing.T, h Harness) {
	s := h.Store
	long := strings.Repeat("0123456789", 1<<19)
	_, rev := write(t, s, "k", said("before"), said(long), said("after"))
	want := []string{"before", long, "after"}
	diff(t, "history", texts(collect(t, s.History(t.Context(), "k", 0))), want)
	if h.Reopen != nil {
		closeStore(t, s)
		s = h.Reopen(t)
	}
	c := acquire(t, s, "k", "o")
	diff(t, "texts", texts(c.Records), want)
	commit(t, s, sessions.Append{Lease: c.Lease, After: rev, Record: said(long)})
}
