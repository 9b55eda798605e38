package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/talaria-agent/talaria/sessions"
)

func nothingThere(t *testing.T, h Harness) {
	s := h.Store
	diff(t, "history", collect(t, s.History(t.Context(), "k", 0)), []sessions.Record(nil))
	diff(t, "keys", collect(t, s.Keys(t.Context())), []sessions.Key(nil))
	diff(t, "pending", collect(t, s.Pending(t.Context())), []sessions.PendingItem(nil))
	diff(t, "undelivered", collect(t, s.Undelivered(t.Context())), []sessions.Row(nil))
	acquire(t, s, "k", "o") // leaves no trace among the keys
	diff(t, "keys", collect(t, s.Keys(t.Context())), []sessions.Key(nil))
	wantPruned(t, s, start, 0)
}

// readMany reads more than an engine takes in one step.
func readMany(t *testing.T, h Harness) {
	s := h.Store
	const n = 150
	items, rows, names := numbered[sessions.ItemID]("i", n), numbered[sessions.RowID]("r", n), numbered("text ", n)
	accept(t, s, "k", items...)
	var records []sessions.Record
	for i := range n {
		r := said(names[i])
		r.Outbox = []sessions.Row{newRow(rows[i], "k", "L", sessions.Queued)}
		records = append(records, r)
	}
	write(t, s, "k", records...)
	keys := numbered[sessions.Key]("m", n)
	for _, k := range keys {
		write(t, s, k, said("one"))
	}

	diff(t, "pending", pendingIDs(t, s), items)
	wantLanes(t, s, map[string][]sessions.RowID{"L": rows})
	diff(t, "keys", collect(t, s.Keys(t.Context())), append([]sessions.Key{"k"}, keys...))
	all := collect(t, s.History(t.Context(), "k", 0))
	diff(t, "history", texts(all), names)
	diff(t, "late history", collect(t, s.History(t.Context(), "k", all[n/2].Revision)), all[n/2+1:])
	c := acquire(t, s, "k", "o")
	diff(t, "records", c.Records, all)
	diff(t, "pending of the key", itemIDs(c.Pending), items)

	// Forgetting in bulk.
	r := said("end")
	r.Consumed = items
	write(t, s, "k", r)
	wantPruned(t, s, start.AddDate(1, 0, 0), n)
	diff(t, "pending", pendingIDs(t, s), []sessions.ItemID(nil))
}

func loopCallsStore(t *testing.T, h Harness) {
	s := h.Store
	q := sessions.Queued
	accept(t, s, "k", "i1", "i2")
	l, rev := write(t, s, "k", sending(newRow("r1", "k", "L", q), newRow("r2", "k", "L", q)))
	for i, err := range s.Pending(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		r := said("took " + string(i.ID))
		r.Consumed = []sessions.ItemID{i.ID}
		rev = commit(t, s, sessions.Append{Lease: l, After: rev, Record: r})
	}
	for r, err := range s.Undelivered(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, sessions.Mark{Row: r.ID, From: q, To: sessions.Part{State: sessions.Sent}})
	}
	for k, err := range s.Keys(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "history", texts(collect(t, s.History(t.Context(), k, 0))), []string{"answer", "took i1", "took i2"})
	}
	diff(t, "pending", pendingIDs(t, s), []sessions.ItemID(nil))
	wantLanes(t, s, nil)
}

func stopEarly(t *testing.T, h Harness) {
	s := h.Store
	accept(t, s, "k", "i1", "i2")
	write(t, s, "k", said("a"), sending(newRow("r1", "k", "L", sessions.Queued), newRow("r2", "k", "L", sessions.Queued)))
	write(t, s, "k2", said("b"))
	for range s.Pending(t.Context()) {
		break
	}
	for range s.Undelivered(t.Context()) {
		break
	}
	for range s.Keys(t.Context()) {
		break
	}
	for range s.History(t.Context(), "k", 0) {
		break
	}
	// An iterator can be used again, and then reads anew.
	again := s.Pending(t.Context())
	diff(t, "pending", itemIDs(collect(t, again)), []sessions.ItemID{"i1", "i2"})
	accept(t, s, "k", "i3")
	diff(t, "pending", itemIDs(collect(t, again)), []sessions.ItemID{"i1", "i2", "i3"})
}

func noSharedMemory(t *testing.T, h Harness) {
	s := h.Store
	i := newItem("i", "k")
	commit(t, s, sessions.Accept{Item: i})
	r := claiming("t", "i")
	r.Outbox = []sessions.Row{newRow("r", "k", "L", sessions.Queued)}
	write(t, s, "k", r)

	spoil := func(i sessions.Item, r sessions.Record, row sessions.Row) {
		i.Payload[0] = 'X'
		r.Entries[0].(sessions.TurnStarted).Inputs[0] = "X"
		row.Payload[0] = 'X'
		row.Parts[0].State = "X"
	}
	spoil(i, r, r.Outbox[0])
	for range 2 {
		c := acquire(t, s, "k", "o")
		row, err := s.Row(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		want := claiming("t", "i")
		want.Outbox = []sessions.Row{newRow("r", "k", "L", sessions.Queued)}
		want.Revision = c.Revision
		diff(t, "records", c.Records, []sessions.Record{want})
		diff(t, "pending", c.Pending, []sessions.PendingItem{{Item: newItem("i", "k"), Turn: "t"}})
		diff(t, "row", row, want.Outbox[0])
		diff(t, "undelivered", collect(t, s.Undelivered(t.Context())), want.Outbox)
		spoil(c.Pending[0].Item, c.Records[0], row)
		spoil(collect(t, s.Pending(t.Context()))[0].Item, collect(t, s.History(t.Context(), "k", 0))[0],
			collect(t, s.Undelivered(t.Context()))[0])
	}
}

// endedContext: a call with an ended context says so and, if it did anything, did all of it.
func endedContext(t *testing.T, h Harness) {
	s := h.Store
	l, rev := write(t, s, "k", sending(newRow("r", "k", "L", sessions.Queued)))
	accept(t, s, "k", "i")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, acquireErr := s.Acquire(ctx, "other", "o")
	_, acceptErr := s.Commit(ctx, sessions.Accept{Item: newItem("i2", "k")})
	_, appendErr := s.Commit(ctx, sessions.Append{Lease: l, After: rev, Record: said("a")})
	_, rowErr := s.Row(ctx, "r")
	for i, err := range []error{
		acquireErr, acceptErr, appendErr, rowErr,
		firstErr(t, s.Pending(ctx)), firstErr(t, s.Undelivered(ctx)), firstErr(t, s.Keys(ctx)), firstErr(t, s.History(ctx, "k", 0)),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("call %d: %v, want the context's error", i, err)
		}
	}
	c := acquire(t, s, "k", "o")
	commit(t, s, sessions.Append{Lease: c.Lease, After: c.Revision, Record: said("b")})
}
