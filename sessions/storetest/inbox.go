package storetest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/talaria-agent/talaria/sessions"
)

func acceptOnce(t *testing.T, h Harness) {
	s := h.Store
	accept(t, s, "k", "i1")
	wantErr(t, s, sessions.Accept{Item: newItem("i1", "k")}, sessions.ErrSeen)
	wantErr(t, s, sessions.Accept{Item: newItem("i1", "other")}, sessions.ErrSeen)
	got := collect(t, s.Pending(t.Context()))
	diff(t, "pending", got, []sessions.PendingItem{{Item: newItem("i1", "k")}})

	// An id is anything.
	accept(t, s, "k", "slack:T1/C1 1700.5", "é\x00*.>", "I1")
	diff(t, "pending", pendingIDs(t, s), []sessions.ItemID{"i1", "slack:T1/C1 1700.5", "é\x00*.>", "I1"})
}

func acceptOrder(t *testing.T, h Harness) {
	s := h.Store
	accept(t, s, "k2", "z")
	accept(t, s, "k1", "y")
	accept(t, s, "k2", "a")
	accept(t, s, "k1", "x")
	diff(t, "pending", pendingIDs(t, s), []sessions.ItemID{"z", "y", "a", "x"})
	diff(t, "pending of k1", itemIDs(acquire(t, s, "k1", "o").Pending), []sessions.ItemID{"y", "x"})
	diff(t, "pending of k2", itemIDs(acquire(t, s, "k2", "o").Pending), []sessions.ItemID{"z", "a"})
	if keys := collect(t, s.Keys(t.Context())); len(keys) > 0 {
		t.Fatalf("keys %q, although there is no record", keys)
	}
}

func claimAndConsume(t *testing.T, h Harness) {
	s := h.Store
	accept(t, s, "k", "i1", "i2", "i3")
	end := said("done")
	end.Consumed = []sessions.ItemID{"i2"}

	l, rev := write(t, s, "k", claiming("t1", "i1", "i2"))
	want := []sessions.PendingItem{
		{Item: newItem("i1", "k"), Turn: "t1"}, {Item: newItem("i2", "k"), Turn: "t1"}, {Item: newItem("i3", "k")},
	}
	diff(t, "pending after the claim", collect(t, s.Pending(t.Context())), want)

	rev = commit(t, s, sessions.Append{Lease: l, After: rev, Record: end})
	diff(t, "pending after one was consumed", acquire(t, s, "k", "o").Pending, []sessions.PendingItem{want[0], want[2]})
	wantErr(t, s, sessions.Accept{Item: newItem("i2", "k")}, sessions.ErrSeen)

	// What a turn is told meanwhile it claims, too.
	l = acquire(t, s, "k", "o").Lease
	rev = commit(t, s, sessions.Append{Lease: l, After: rev, Record: sessions.Record{Entries: []sessions.Entry{
		sessions.Steered{Turn: "t1", Inputs: []sessions.ItemID{"i3"}, Message: sessions.Message{Role: sessions.RoleUser, Text: "rather so"}},
	}}})
	want[2].Turn = "t1"
	for _, w := range []sessions.PendingItem{want[0], want[2]} {
		got, err := s.Item(t.Context(), w.ID)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "item", got, w)
	}
	for _, id := range []sessions.ItemID{"i2", "never"} {
		if _, err := s.Item(t.Context(), id); !errors.Is(err, sessions.ErrState) {
			t.Fatalf("item %s: %v", id, err)
		}
	}

	// Another turn takes an item over, and one record may claim and consume.
	both := claiming("t2", "i1", "i3")
	both.Consumed = []sessions.ItemID{"i3"}
	l = acquire(t, s, "k", "o").Lease
	commit(t, s, sessions.Append{Lease: l, After: rev, Record: both})
	want[0].Turn = "t2"
	diff(t, "pending after both", collect(t, s.Pending(t.Context())), want[:1])
}

func unknownItems(t *testing.T, h Harness) {
	s := h.Store
	r := claiming("t1", "never")
	r.Consumed = []sessions.ItemID{"never", "nor this"}
	write(t, s, "k", r)
	accept(t, s, "k", "never")
	diff(t, "pending", collect(t, s.Pending(t.Context())), []sessions.PendingItem{{Item: newItem("never", "k")}})
}

func bigItem(t *testing.T, h Harness) {
	s := h.Store
	i := newItem("big", "k")
	i.Payload = bytes.Repeat([]byte("0123456789"), 1<<20)
	commit(t, s, sessions.Accept{Item: i})
	accept(t, s, "k", "small")
	got := acquire(t, s, "k", "o").Pending
	diff(t, "pending", itemIDs(got), []sessions.ItemID{"big", "small"})
	if !bytes.Equal(got[0].Payload, i.Payload) {
		t.Fatalf("payload of %d bytes came back as %d bytes", len(i.Payload), len(got[0].Payload))
	}
}
