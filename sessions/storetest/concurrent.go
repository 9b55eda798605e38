package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/talaria-agent/talaria/sessions"
)

// together runs n functions at once and returns their errors.
func together(n int, run func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			errs[i] = run(i)
		})
	}
	close(begin)
	wg.Wait()
	return errs
}

// wantOne fails unless exactly one of the errors is nil and all others are of one kind.
func wantOne(t *testing.T, errs []error, want error) (winner int) {
	t.Helper()
	winner = -1
	for i, err := range errs {
		switch {
		case err == nil && winner >= 0:
			t.Fatalf("both %d and %d succeeded", winner, i)
		case err == nil:
			winner = i
		case !errors.Is(err, want):
			t.Fatalf("%d failed with %v, want %v", i, err, want)
		}
	}
	if winner < 0 {
		t.Fatalf("nobody succeeded")
	}
	return winner
}

func oneAcceptWins(t *testing.T, h Harness) {
	errs := together(16, func(i int) error {
		item := newItem("same", "k")
		item.Payload = []byte{byte(i)}
		_, err := h.Store.Commit(t.Context(), sessions.Accept{Item: item})
		return err
	})
	winner := wantOne(t, errs, sessions.ErrSeen)
	got := collect(t, h.Store.Pending(t.Context()))
	if len(got) != 1 || got[0].Payload[0] != byte(winner) {
		t.Fatalf("pending %+v, want the item of %d", got, winner)
	}
}

func oneAppendWins(t *testing.T, h Harness) {
	l, rev := write(t, h.Store, "k", said("first"))
	errs := together(16, func(i int) error {
		_, err := h.Store.Commit(t.Context(), sessions.Append{Lease: l, After: rev, Record: said(fmt.Sprint(i))})
		return err
	})
	winner := wantOne(t, errs, sessions.ErrStale)
	diff(t, "history", texts(collect(t, h.Store.History(t.Context(), "k", 0))), []string{"first", fmt.Sprint(winner)})
}

func oneMarkWins(t *testing.T, h Harness) {
	write(t, h.Store, "k", sending(newRow("r", "k", "L", sessions.Queued)))
	errs := together(16, func(i int) error {
		to := sessions.Part{State: sessions.Sending, Attempts: i}
		_, err := h.Store.Commit(t.Context(), sessions.Mark{Row: "r", From: sessions.Queued, To: to})
		return err
	})
	winner := wantOne(t, errs, sessions.ErrState)
	r, err := h.Store.Row(t.Context(), "r")
	if err != nil || r.Parts[0].Attempts != winner {
		t.Fatalf("row %+v, %v; want the mark of %d", r, err, winner)
	}
}

// oneOwnerStays: of many who acquire a key at once and then append, the last to acquire succeeds.
func oneOwnerStays(t *testing.T, a, b sessions.Store) {
	stores := []sessions.Store{a, b}
	const n = 8
	all := make([]sessions.Conversation, n)
	for _, err := range together(n, func(i int) (err error) {
		all[i], err = stores[i%2].Acquire(t.Context(), "k", fmt.Sprint(i))
		return err
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	winner := wantOne(t, together(n, func(i int) error {
		_, err := stores[i%2].Commit(t.Context(), sessions.Append{Lease: all[i].Lease, Record: said("mine")})
		return err
	}), sessions.ErrStale)
	newest := slices.MaxFunc(all, func(x, y sessions.Conversation) int { return int(x.Lease.Epoch) - int(y.Lease.Epoch) })
	if all[winner].Lease != newest.Lease {
		t.Fatalf("%+v appended, but the newest lease is %+v", all[winner].Lease, newest.Lease)
	}
}

// failuresAlone mixes commits that must succeed with commits that must fail.
func failuresAlone(t *testing.T, h Harness) {
	s := h.Store
	accept(t, s, "k", "seen")
	stale, _ := write(t, s, "k", sending(newRow("r", "k", "L", sessions.Sent)))
	const writers, each = 8, 10
	keys := numbered[sessions.Key]("w", writers)
	errs := together(3*writers, func(i int) error {
		if i >= writers {
			return failing(t.Context(), s, i%2 == 0, stale)
		}
		c, err := s.Acquire(t.Context(), keys[i], "o")
		if err != nil {
			return err
		}
		rev := c.Revision
		for n := range each {
			id := sessions.ItemID(fmt.Sprintf("%s/%d", keys[i], n))
			if _, err := s.Commit(t.Context(), sessions.Accept{Item: newItem(id, keys[i])}); err != nil {
				return err
			}
			r := sending(newRow(sessions.RowID(id), keys[i], "L", sessions.Queued))
			r.Consumed = []sessions.ItemID{id}
			if rev, err = s.Commit(t.Context(), sessions.Append{Lease: c.Lease, After: rev, Record: r}); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if n := len(collect(t, s.History(t.Context(), k, 0))); n != each {
			t.Fatalf("%s has %d records, want %d", k, n, each)
		}
	}
	diff(t, "pending", pendingIDs(t, s), []sessions.ItemID{"seen"})
	if n := len(collect(t, s.Undelivered(t.Context()))); n != writers*each {
		t.Fatalf("%d rows undelivered, want %d", n, writers*each)
	}
}

// failing commits what cannot succeed and complains about any other outcome than the right error.
func failing(ctx context.Context, s sessions.Store, even bool, stale sessions.Lease) error {
	for range 10 {
		var c sessions.Commit = sessions.Accept{Item: newItem("seen", "k")}
		want := sessions.ErrSeen
		if even {
			c, want = sessions.Append{Lease: stale, After: 0, Record: said("no")}, sessions.ErrStale
		}
		if _, err := s.Commit(ctx, c); !errors.Is(err, want) {
			return fmt.Errorf("commit %T = %w, want %v", c, err, want)
		}
		m := sessions.Mark{Row: "r", From: sessions.Queued, To: sessions.Part{State: sessions.Sending}}
		if _, err := s.Commit(ctx, m); !errors.Is(err, sessions.ErrState) {
			return fmt.Errorf("mark = %w, want %v", err, sessions.ErrState)
		}
	}
	return nil
}

// cancelledCommits ends contexts while commits run: each commit happened as a whole or not at all.
func cancelledCommits(t *testing.T, h Harness) {
	s := h.Store
	const n = 24
	items, keys := numbered[sessions.ItemID]("i", n), numbered[sessions.Key]("k", n)
	leases := make([]sessions.Lease, n)
	for i := range n {
		accept(t, s, keys[i], items[i])
		leases[i] = acquire(t, s, keys[i], "o").Lease
	}
	errs := together(n, func(i int) error {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(cancel)
		defer wg.Wait()
		r := sending(newRow(sessions.RowID(items[i]), keys[i], "L", sessions.Queued))
		r.Consumed = []sessions.ItemID{items[i]}
		_, err := s.Commit(ctx, sessions.Append{Lease: leases[i], Record: r})
		return err
	})
	pending := pendingIDs(t, s)
	for i, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("commit %d: %v", i, err)
		}
		// Acquire comes after whatever is still on its way.
		c := acquire(t, s, keys[i], "next")
		written := len(c.Records) == 1
		if err == nil && !written {
			t.Fatalf("commit %d succeeded, but nothing is there", i)
		}
		if err != nil { // the read above may have been too early for this one
			pending = pendingIDs(t, s)
		}
		_, rowErr := s.Row(t.Context(), sessions.RowID(items[i]))
		if written != (rowErr == nil) || written == slices.Contains(pending, items[i]) || written == (len(c.Pending) > 0) {
			t.Fatalf("commit %d (%v) is half: record %t, row %v, pending %q", i, err, written, rowErr, pending)
		}
	}
}
