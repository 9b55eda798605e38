package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/talaria-agent/talaria/sessions"
)

func closeStore(t tb, s sessions.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

func closed(t *testing.T, h Harness) {
	s := h.Store
	l, rev := write(t, s, "k", sending(newRow("r", "k", "L", sessions.Queued)))
	closeStore(t, s)
	closeStore(t, s)
	ctx := t.Context()
	_, acquireErr := s.Acquire(ctx, "k", "o")
	_, acceptErr := s.Commit(ctx, sessions.Accept{Item: newItem("i", "k")})
	_, appendErr := s.Commit(ctx, sessions.Append{Lease: l, After: rev, Record: said("no")})
	_, markErr := s.Commit(ctx, sessions.Mark{Row: "r", From: sessions.Queued, To: sessions.Part{State: sessions.Sent}})
	_, rowErr := s.Row(ctx, "r")
	_, itemErr := s.Item(ctx, "i")
	_, pruneErr := s.Prune(ctx, start)
	for i, err := range []error{
		acquireErr, acceptErr, appendErr, markErr, rowErr, itemErr, pruneErr, s.Release(ctx, l),
		firstErr(t, s.Pending(ctx)), firstErr(t, s.Undelivered(ctx)), firstErr(t, s.Keys(ctx)), firstErr(t, s.History(ctx, "k", 0)),
	} {
		if !errors.Is(err, sessions.ErrClosed) {
			t.Fatalf("call %d: %v, want %v", i, err, sessions.ErrClosed)
		}
	}
}

// closedWhileCommitting: what Commit promised is there afterwards, and everything else failed with ErrClosed.
func closedWhileCommitting(t *testing.T, h Harness) {
	const n = 16
	done := make([]int, n)
	errs := together(n+1, func(i int) error {
		if i == n {
			return h.Store.Close()
		}
		for {
			id := sessions.ItemID(fmt.Sprintf("%d/%d", i, done[i]))
			if _, err := h.Store.Commit(t.Context(), sessions.Accept{Item: newItem(id, "k")}); err != nil {
				return err
			}
			done[i]++
		}
	})
	for i, err := range errs[:n] {
		if !errors.Is(err, sessions.ErrClosed) {
			t.Fatalf("writer %d ended with %v", i, err)
		}
	}
	if errs[n] != nil {
		t.Fatalf("close: %v", errs[n])
	}
	if h.Reopen == nil {
		return
	}
	s := h.Reopen(t)
	for i := range n {
		for j := range done[i] {
			wantErr(t, s, sessions.Accept{Item: newItem(sessions.ItemID(fmt.Sprintf("%d/%d", i, j)), "k")}, sessions.ErrSeen)
		}
	}
}

// everything is all that can be read from a store.
type everything struct {
	Keys        []sessions.Key
	History     map[sessions.Key][]sessions.Record
	Pending     []sessions.PendingItem
	Undelivered []sessions.Row
}

func readEverything(t tb, s sessions.Store) everything {
	t.Helper()
	e := everything{
		Keys:        collect(t, s.Keys(t.Context())),
		History:     make(map[sessions.Key][]sessions.Record),
		Pending:     collect(t, s.Pending(t.Context())),
		Undelivered: collect(t, s.Undelivered(t.Context())),
	}
	for _, k := range e.Keys {
		e.History[k] = collect(t, s.History(t.Context(), k, 0))
	}
	return e
}

func reopened(t *testing.T, h Harness) {
	if h.Reopen == nil {
		t.Skip("nothing outlives this store")
	}
	s := h.Store
	q := sessions.Queued
	accept(t, s, "k", "i1", "i2", "i3")
	r := claiming("t", "i2", "i1")
	r.Consumed = []sessions.ItemID{"i2"}
	r.Outbox = []sessions.Row{newRow("r1", "k", "L", q), newRow("r2", "k", "L", q, q), newRow("r3", "k", "L", q)}
	l, rev := write(t, s, "k", said("a"), r)
	write(t, s, "k2", said("b"), said("c"))
	commit(t, s, sessions.Mark{Row: "r1", From: q, To: sessions.Part{State: sessions.Sent, MessageID: "m"}})
	commit(t, s, sessions.Mark{Row: "r2", Part: 1, From: q, To: sessions.Part{State: sessions.Sending, Attempts: 1}})
	before := readEverything(t, s)
	closeStore(t, s)

	s = h.Reopen(t)
	diff(t, "everything", readEverything(t, s), before)
	wantState(t, s, "r1", sessions.Sent)
	wantErr(t, s, sessions.Accept{Item: newItem("i2", "k")}, sessions.ErrSeen)
	wantErr(t, s, sessions.Accept{Item: newItem("i3", "k")}, sessions.ErrSeen)
	c := acquire(t, s, "k", l.Owner)
	diff(t, "records", c.Records, before.History["k"])
	wantErr(t, s, sessions.Append{Lease: l, After: rev, Record: said("no")}, sessions.ErrStale)
	if next := commit(t, s, sessions.Append{Lease: c.Lease, After: rev, Record: sending(newRow("r0", "k", "L", q))}); next <= rev {
		t.Fatalf("revision %d after %d", next, rev)
	}
	accept(t, s, "k", "i0")
	diff(t, "pending", pendingIDs(t, s), []sessions.ItemID{"i1", "i3", "i0"})
	wantLanes(t, s, map[string][]sessions.RowID{"L": {"r2", "r3", "r0"}})
}
