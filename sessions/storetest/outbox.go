package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

func lanes(t *testing.T, h Harness) {
	s := h.Store
	q := sessions.Queued
	// Ids and keys sort the other way round than the commits, and a lane is fed by several keys.
	write(t, s, "k9", sending(newRow("z", "k9", "L1", q), newRow("y", "k9", "L2", q)))
	write(t, s, "k5", sending(newRow("x", "k5", "L1", q, q), newRow("w", "k5", "L1", q)))
	write(t, s, "k9", sending(newRow("v", "k9", "L2", q)))
	write(t, s, "k1", sending(newRow("u", "k1", "L2", sessions.Sent, q), newRow("t", "k1", "L1", sessions.Sent)))
	wantLanes(t, s, map[string][]sessions.RowID{"L1": {"z", "x", "w"}, "L2": {"y", "v", "u"}})
	wantState(t, s, "t", sessions.Sent)
}

func wantLanes(t tb, s sessions.Store, want map[string][]sessions.RowID) {
	t.Helper()
	got := make(map[string][]sessions.RowID)
	for _, r := range collect(t, s.Undelivered(t.Context())) {
		got[r.Lane] = append(got[r.Lane], r.ID)
	}
	diff(t, "lanes", got, want)
}

func mark(t *testing.T, h Harness) {
	s := h.Store
	write(t, s, "k", sending(newRow("r", "k", "lane", sessions.Queued, sessions.Queued)))
	to := func(s sessions.State) sessions.Part { return sessions.Part{State: s} }
	for _, m := range []sessions.Mark{
		{Row: "r", Part: 0, From: sessions.Sending, To: to(sessions.Sent)},
		{Row: "r", Part: 0, From: "", To: to(sessions.Sent)},
		{Row: "r", Part: 2, From: sessions.Queued, To: to(sessions.Sent)},
		{Row: "r", Part: -1, From: sessions.Queued, To: to(sessions.Sent)},
		{Row: "other", Part: 0, From: sessions.Queued, To: to(sessions.Sent)},
	} {
		wantErr(t, s, m, sessions.ErrState)
	}
	wantState(t, s, "r", sessions.Queued, sessions.Queued)

	full := sessions.Part{
		State: sessions.Sending, MessageID: "m1", Attempts: 3, NotBefore: start.Add(time.Hour), Error: "try later",
	}
	if rev := commit(t, s, sessions.Mark{Row: "r", Part: 1, From: sessions.Queued, To: full}); rev != 0 {
		t.Fatalf("mark returned revision %d", rev)
	}
	want := newRow("r", "k", "lane", sessions.Queued, sessions.Queued)
	want.Parts[1] = full
	got, err := s.Row(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "row", got, want)
	diff(t, "undelivered", collect(t, s.Undelivered(t.Context())), []sessions.Row{want})
	wantErr(t, s, sessions.Mark{Row: "r", Part: 1, From: sessions.Queued, To: full}, sessions.ErrState)
	if _, err := s.Row(t.Context(), "other"); !errors.Is(err, sessions.ErrState) {
		t.Fatalf("unknown row: %v", err)
	}
}

// markAgain follows a row to its end and, as nothing forbids it, back to where it was in its lane.
func markAgain(t *testing.T, h Harness) {
	s := h.Store
	q := sessions.Queued
	write(t, s, "k", sending(newRow("a", "k", "L", q), newRow("b", "k", "L", q, q), newRow("c", "k", "L", q)))
	move := func(part int, from, to sessions.State) {
		t.Helper()
		commit(t, s, sessions.Mark{Row: "b", Part: part, From: from, To: sessions.Part{State: to}})
	}
	move(0, q, sessions.Sending)
	move(0, sessions.Sending, sessions.InDoubt)
	move(1, q, sessions.Dead)
	wantLanes(t, s, map[string][]sessions.RowID{"L": {"a", "b", "c"}})
	move(0, sessions.InDoubt, sessions.Sent)
	wantLanes(t, s, map[string][]sessions.RowID{"L": {"a", "c"}})
	wantState(t, s, "b", sessions.Sent, sessions.Dead)
	move(1, sessions.Dead, q)
	wantLanes(t, s, map[string][]sessions.RowID{"L": {"a", "b", "c"}})
	wantPruned(t, s, start.AddDate(1, 0, 0), 0) // it is wanted again
	wantState(t, s, "b", sessions.Sent, q)
}

func takenRow(t *testing.T, h Harness) {
	s := h.Store
	l, rev := write(t, s, "k", sending(newRow("r", "k", "lane", sessions.Queued)))
	again := sending(newRow("new", "k", "lane", sessions.Queued), newRow("r", "k", "other", sessions.Queued))
	if _, err := s.Commit(t.Context(), sessions.Append{Lease: l, After: rev, Record: again}); err == nil {
		t.Fatalf("a row with a taken id was committed")
	}
	wantLanes(t, s, map[string][]sessions.RowID{"lane": {"r"}})
	commit(t, s, sessions.Append{Lease: l, After: rev, Record: said("goes on")})
}

// fillForPrune leaves pending items i3 (claimed) and i4, consumed ones i1 and i2, done rows r1 and r3, and r2 under
// way; what has a 1 is an hour older.
func fillForPrune(t *testing.T, s sessions.Store) {
	t.Helper()
	accept(t, s, "k", "i1", "i2", "i3", "i4")
	old := sending(newRow("r1", "k", "L", sessions.Sent), newRow("r2", "k", "L", sessions.Queued))
	old.At, old.Consumed = start.Add(-time.Hour), []sessions.ItemID{"i1"}
	later := claiming("t", "i3")
	later.Consumed = []sessions.ItemID{"i2"}
	later.Outbox = []sessions.Row{newRow("r3", "k", "L", sessions.Queued)}
	write(t, s, "k", old, later)
	commit(t, s, sessions.Mark{Row: "r3", From: sessions.Queued, To: sessions.Part{State: sessions.Dead}})
}

func prune(t *testing.T, h Harness) {
	s := h.Store
	fillForPrune(t, s)
	history := collect(t, s.History(t.Context(), "k", 0))
	wantPruned(t, s, start.Add(-time.Hour), 0) // not before
	wantPruned(t, s, start, 2)                 // i1 and r1
	wantPruned(t, s, start, 0)
	wantErr(t, s, sessions.Accept{Item: newItem("i2", "k")}, sessions.ErrSeen)
	wantErr(t, s, sessions.Mark{Row: "r1", From: sessions.Sent, To: sessions.Part{State: sessions.Sent}}, sessions.ErrState)
	wantState(t, s, "r3", sessions.Dead)
	accept(t, s, "k", "i1") // forgotten, and so new

	wantPruned(t, s, start.Add(time.Hour), 2) // i2 and r3
	diff(t, "pending", pendingIDs(t, s), []sessions.ItemID{"i3", "i4", "i1"})
	wantLanes(t, s, map[string][]sessions.RowID{"L": {"r2"}})
	diff(t, "history", collect(t, s.History(t.Context(), "k", 0)), history)

	// What was still wanted goes when it is done.
	end := said("end")
	end.Consumed = []sessions.ItemID{"i1", "i3", "i4"}
	write(t, s, "k", end)
	commit(t, s, sessions.Mark{Row: "r2", From: sessions.Queued, To: sessions.Part{State: sessions.Sent}})
	wantPruned(t, s, start.Add(time.Hour), 4)
	accept(t, s, "k", "i4", "i3")
	diff(t, "pending", pendingIDs(t, s), []sessions.ItemID{"i4", "i3"})
}

func pruneAndReopen(t *testing.T, h Harness) {
	if h.Reopen == nil {
		t.Skip("nothing outlives this store")
	}
	fillForPrune(t, h.Store)
	wantPruned(t, h.Store, start, 2)
	accept(t, h.Store, "k", "i1")
	closeStore(t, h.Store)

	s := h.Reopen(t)
	diff(t, "pending", pendingIDs(t, s), []sessions.ItemID{"i3", "i4", "i1"})
	wantLanes(t, s, map[string][]sessions.RowID{"L": {"r2"}})
	if _, err := s.Row(t.Context(), "r1"); !errors.Is(err, sessions.ErrState) {
		t.Fatalf("a forgotten row is back: %v", err)
	}
	wantErr(t, s, sessions.Accept{Item: newItem("i2", "k")}, sessions.ErrSeen)
	wantPruned(t, s, start.Add(time.Hour), 2)
}

func wantPruned(t tb, s sessions.Store, before time.Time, want int) {
	t.Helper()
	n, err := s.Prune(t.Context(), before)
	if err != nil || n != want {
		t.Fatalf("prune before %v = %d, %v; want %d", before, n, err, want)
	}
}
