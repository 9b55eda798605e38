// Package storetest is the suite that every engine of sessions.Store must pass: each sentence of the contract is a
// case, and a state machine compares the engine with a simple model of it.
//
// The suite waits for every goroutine that it starts and never sleeps.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/talaria-agent/talaria/sessions"
)

// Harness is one fresh engine under test. Whoever makes it registers the cleaning up with the test, but Store may
// have been closed by then.
type Harness struct {
	Store sessions.Store
	// Peer returns another open handle on the same data, as another process would have it; nil if the data belongs to
	// one handle at a time.
	Peer func(t *testing.T) sessions.Store
	// Reopen opens the data again after Store has been closed; nil if nothing outlives the store.
	Reopen func(t *testing.T) sessions.Store
}

// Run runs the suite. It calls open once for every case, and for every try of the state machine.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	cases := []struct {
		name string
		run  func(t *testing.T, h Harness)
	}{
		{"accept/once", acceptOnce},
		{"accept/order", acceptOrder},
		{"accept/claimed and consumed", claimAndConsume},
		{"accept/unknown items are passed over", unknownItems},
		{"accept/big", bigItem},
		{"append/revisions", appendRevisions},
		{"append/stale revision", staleRevision},
		{"append/keys do not disturb each other", keysApart},
		{"append/from the last base", fromLastBase},
		{"append/every kind of entry", everyEntry},
		{"append/big", bigRecord},
		{"erase", eraseAll},
		{"trim", trimAll},
		{"size", sizes},
		{"lease/needed", leaseNeeded},
		{"lease/hand-over", eachPeer(handOver)},
		{"lease/hand-over before a write", eachPeer(handOverBeforeWrite)},
		{"lease/late release", eachPeer(lateRelease)},
		{"lease/known revision is not enough", eachPeer(knownRevision)},
		{"lease/same owner twice", sameOwnerTwice},
		{"outbox/lanes", lanes},
		{"outbox/mark", mark},
		{"outbox/mark moves on", markAgain},
		{"outbox/taken id", takenRow},
		{"value/set", setValue},
		{"value/peers", eachPeer(valueOfPeers)},
		{"prune", prune},
		{"prune/rows stay forgotten", pruneAndReopen},
		{"read/nothing there", nothingThere},
		{"read/many", readMany},
		{"read/loop calls the store", loopCallsStore},
		{"read/stop early", stopEarly},
		{"read/no shared memory", noSharedMemory},
		{"commit/ill-formed", illFormed},
		{"commit/ended context", endedContext},
		{"concurrent/one accept wins", oneAcceptWins},
		{"concurrent/one append wins", oneAppendWins},
		{"concurrent/one mark wins", oneMarkWins},
		{"concurrent/one set wins", oneSetWins},
		{"concurrent/one owner stays", eachPeer(oneOwnerStays)},
		{"concurrent/failures are alone", failuresAlone},
		{"concurrent/cancelled commits are whole", cancelledCommits},
		{"close", closed},
		{"close/while committing", closedWhileCommitting},
		{"reopen", reopened},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
	t.Run("model", func(t *testing.T) { againstModel(t, open) })
}

// eachPeer runs a case with two owners at one store and, if the engine allows it, at two.
func eachPeer(run func(t *testing.T, a, b sessions.Store)) func(t *testing.T, h Harness) {
	return func(t *testing.T, h Harness) {
		if h.Peer == nil {
			run(t, h.Store, h.Store)
			return
		}
		run(t, h.Store, h.Peer(t))
	}
}

// tb is what testing.T and rapid.T have in common, as far as it is needed here.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
	Context() context.Context
}

// start is when everything begins.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newItem(id sessions.ItemID, key sessions.Key) sessions.Item {
	return sessions.Item{ID: id, Key: key, Payload: []byte("payload of " + id), At: start}
}

func newRow(id sessions.RowID, key sessions.Key, lane string, parts ...sessions.State) sessions.Row {
	r := sessions.Row{ID: id, Key: key, Lane: lane, Payload: []byte("payload of " + id)}
	for _, s := range parts {
		r.Parts = append(r.Parts, sessions.Part{State: s})
	}
	return r
}

// said is a record with one message in it.
func said(text string) sessions.Record {
	m := sessions.Message{Role: sessions.RoleUser, Text: text}
	return sessions.Record{At: start, Entries: []sessions.Entry{sessions.UserMessage{Message: m}}}
}

// claiming is a record in which a turn claims items.
func claiming(turn string, items ...sessions.ItemID) sessions.Record {
	return sessions.Record{At: start, Entries: []sessions.Entry{
		sessions.TurnStarted{Turn: turn, Inputs: items, Requester: "U1", At: start},
	}}
}

// sending is a record with rows for the outbox.
func sending(rows ...sessions.Row) sessions.Record {
	r := said("answer")
	r.Outbox = rows
	return r
}

func acquire(t tb, s sessions.Store, key sessions.Key, owner string) sessions.Conversation {
	t.Helper()
	c, err := s.Acquire(t.Context(), key, owner)
	if err != nil {
		t.Fatalf("acquire %s for %s: %v", key, owner, err)
	}
	return c
}

func commit(t tb, s sessions.Store, c sessions.Commit) sessions.Revision {
	t.Helper()
	rev, err := s.Commit(t.Context(), c)
	if err != nil {
		t.Fatalf("commit %T: %v", c, err)
	}
	return rev
}

// accept puts items with these ids into the inbox of a key.
func accept(t tb, s sessions.Store, key sessions.Key, ids ...sessions.ItemID) {
	t.Helper()
	for _, id := range ids {
		if rev := commit(t, s, sessions.Accept{Item: newItem(id, key)}); rev != 0 {
			t.Fatalf("accept returned revision %d, want 0", rev)
		}
	}
}

// write acquires a key and appends records to it.
func write(t tb, s sessions.Store, key sessions.Key, records ...sessions.Record) (sessions.Lease, sessions.Revision) {
	t.Helper()
	c := acquire(t, s, key, "writer")
	rev := c.Revision
	for _, r := range records {
		rev = commit(t, s, sessions.Append{Lease: c.Lease, After: rev, Record: r})
	}
	return c.Lease, rev
}

func wantErr(t tb, s sessions.Store, c sessions.Commit, want error) {
	t.Helper()
	rev, err := s.Commit(t.Context(), c)
	if !errors.Is(err, want) || rev != 0 {
		t.Fatalf("commit %T = %d, %v; want error %v", c, rev, err, want)
	}
}

func wantState(t tb, s sessions.Store, id sessions.RowID, want ...sessions.State) {
	t.Helper()
	r, err := s.Row(t.Context(), id)
	if err != nil {
		t.Fatalf("row %s: %v", id, err)
	}
	var got []sessions.State
	for _, p := range r.Parts {
		got = append(got, p.State)
	}
	diff(t, "parts of row "+string(id), got, want)
}

func collect[T any](t tb, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var all []T
	for v, err := range seq {
		if err != nil {
			t.Fatalf("after %d elements: %v", len(all), err)
		}
		all = append(all, v)
	}
	return all
}

// firstErr returns the error that an iterator yields, which must be the last thing that it does.
func firstErr[T any](t tb, seq iter.Seq2[T, error]) (first error) {
	t.Helper()
	for _, err := range seq {
		if first != nil {
			t.Fatalf("the iterator went on after the error %v", first)
		}
		first = err
	}
	return first
}

func pendingIDs(t tb, s sessions.Store) (ids []sessions.ItemID) {
	t.Helper()
	return itemIDs(collect(t, s.Pending(t.Context())))
}

func itemIDs(items []sessions.PendingItem) (ids []sessions.ItemID) {
	for _, i := range items {
		ids = append(ids, i.ID)
	}
	return ids
}

// texts returns what is said in records made by said.
func texts(records []sessions.Record) (all []string) {
	for _, r := range records {
		for _, e := range r.Entries {
			if m, ok := e.(sessions.UserMessage); ok {
				all = append(all, m.Message.Text)
			}
		}
	}
	return all
}

func diff(t tb, what string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) { // nearly always, and much faster
		return
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

// numbered returns n names that sort in order.
func numbered[S ~string](prefix S, n int) []S {
	all := make([]S, n)
	for i := range all {
		all[i] = S(fmt.Sprintf("%s%05d", prefix, i))
	}
	return all
}
