package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/talaria-agent/talaria/sessions"
)

// againstModel drives an engine and a model of it with the same random calls, few names and few times, so that calls
// meet each other, and wants the same answers and the same contents.
func againstModel(t *testing.T, open func(t *testing.T) Harness) {
	rapid.Check(t, func(rt *rapid.T) {
		h := open(t)
		m := &machine{
			harness: h, store: h.Store, test: t,
			leases: make(map[sessions.Key]sessions.Lease),
			last:   make(map[sessions.Key]sessions.Revision),
			log:    make(map[sessions.Key][]sessions.Record),
			gone:   make(map[sessions.ItemID]time.Time),
			values: make(map[string]string),
		}
		defer func() { closeStore(rt, m.store) }()
		rt.Repeat(map[string]func(*rapid.T){
			"accept":  m.accept,
			"acquire": m.acquire,
			"release": m.release,
			"append":  m.append,
			"mark":    m.mark,
			"set":     m.set,
			"erase":   m.erase,
			"trim":    m.trim,
			"prune":   m.prune,
			"reopen":  m.reopen,
			"read":    m.check,
		})
		m.check(rt)
	})
}

// machine is the model and the engine beside it.
type machine struct {
	harness Harness
	store   sessions.Store
	test    *testing.T

	old     []sessions.Lease // all that were ever given
	leases  map[sessions.Key]sessions.Lease
	last    map[sessions.Key]sessions.Revision
	log     map[sessions.Key][]sessions.Record
	pending []sessions.PendingItem
	gone    map[sessions.ItemID]time.Time // consumed
	rows    []modelRow                    // in the order of their commits
	made    int                           // rows so far
	values  map[string]string
}

type modelRow struct {
	sessions.Row
	at time.Time
}

var (
	someKey   = rapid.SampledFrom([]sessions.Key{"a", "a/b", "c"})
	someItem  = rapid.StringMatching(`[a-f]`)
	someTime  = rapid.Map(rapid.IntRange(0, 5), func(h int) time.Time { return start.Add(time.Duration(h) * time.Hour) })
	someState = rapid.SampledFrom([]sessions.State{sessions.Queued, sessions.Sending, sessions.Sent, sessions.InDoubt, sessions.Dead})
)

func (m *machine) find(id sessions.ItemID) int {
	return slices.IndexFunc(m.pending, func(p sessions.PendingItem) bool { return p.ID == id })
}

func (m *machine) findRow(id sessions.RowID) int {
	return slices.IndexFunc(m.rows, func(r modelRow) bool { return r.ID == id })
}

func (m *machine) accept(t *rapid.T) {
	i := newItem(sessions.ItemID(someItem.Draw(t, "item")), someKey.Draw(t, "key"))
	_, gone := m.gone[i.ID]
	if gone || m.find(i.ID) >= 0 {
		wantErr(t, m.store, sessions.Accept{Item: i}, sessions.ErrSeen)
		return
	}
	commit(t, m.store, sessions.Accept{Item: i})
	m.pending = append(m.pending, sessions.PendingItem{Item: i})
}

func (m *machine) acquire(t *rapid.T) {
	key := someKey.Draw(t, "key")
	c := acquire(t, m.store, key, rapid.SampledFrom([]string{"A", "B"}).Draw(t, "owner"))
	if slices.Contains(m.old, c.Lease) {
		t.Fatalf("lease %+v was given before", c.Lease)
	}
	m.leases[key] = c.Lease
	m.old = append(m.old, c.Lease)

	records := m.log[key]
	for i, r := range records {
		if r.Base() {
			records = m.log[key][i:]
		}
	}
	pending := slices.DeleteFunc(slices.Clone(m.pending), func(p sessions.PendingItem) bool { return p.Key != key })
	diff(t, "conversation", c, sessions.Conversation{Lease: c.Lease, Revision: m.last[key], Records: records, Pending: pending})
}

func (m *machine) release(t *rapid.T) {
	if len(m.old) == 0 {
		t.Skip("no lease")
	}
	l := rapid.SampledFrom(m.old).Draw(t, "lease")
	release(t, m.store, l)
	if m.leases[l.Key] == l {
		delete(m.leases, l.Key)
	}
}

func (m *machine) append(t *rapid.T) {
	if len(m.old) == 0 {
		t.Skip("no lease")
	}
	c := sessions.Append{Lease: rapid.SampledFrom(m.old).Draw(t, "lease")}
	key := c.Lease.Key
	c.Record = m.record(t, key)
	if current, ok := m.leases[key]; ok && rapid.Bool().Draw(t, "current") {
		c.Lease = current
	}
	c.After = m.last[key]
	if rapid.IntRange(0, 4).Draw(t, "after") == 0 {
		c.After = sessions.Revision(rapid.Uint64Range(0, uint64(c.After)+2).Draw(t, "revision"))
	}
	if m.leases[key] != c.Lease || m.last[key] != c.After {
		wantErr(t, m.store, c, sessions.ErrStale)
		return
	}
	c.Record.Revision = commit(t, m.store, c)
	if c.Record.Revision <= c.After {
		t.Fatalf("revision %d after %d", c.Record.Revision, c.After)
	}
	m.last[key] = c.Record.Revision
	m.log[key] = append(m.log[key], c.Record)
	m.project(c.Record)
}

// record draws a record for the log of a key. It names no item that waits for another one.
func (m *machine) record(t *rapid.T, key sessions.Key) sessions.Record {
	id := rapid.Map(someItem, func(s string) sessions.ItemID { return sessions.ItemID(s) })
	ids := rapid.Map(rapid.SliceOfN(id, 0, 2), func(all []sessions.ItemID) []sessions.ItemID {
		return slices.DeleteFunc(all, func(id sessions.ItemID) bool {
			i := m.find(id)
			return i >= 0 && m.pending[i].Key != key
		})
	})
	r := said("text")
	r.At = someTime.Draw(t, "at")
	if rapid.IntRange(0, 4).Draw(t, "base") == 0 {
		r.Entries = append(r.Entries, sessions.Reset{By: "U1", At: r.At})
	}
	if claimed := ids.Draw(t, "claimed"); len(claimed) > 0 {
		r.Entries = append(r.Entries, claiming(fmt.Sprintf("turn %d", len(m.old)), claimed...).Entries...)
	}
	if consumed := ids.Draw(t, "consumed"); len(consumed) > 0 {
		r.Consumed = consumed
	}
	for range rapid.IntRange(0, 2).Draw(t, "rows") {
		m.made++
		id := sessions.RowID(fmt.Sprintf("%c%d", 'z'-rune(m.made%20), m.made)) // not sorted
		lane := rapid.SampledFrom([]string{"L1", "L2"}).Draw(t, "lane")
		r.Outbox = append(r.Outbox, newRow(id, key, lane, rapid.SliceOfN(someState, 1, 2).Draw(t, "parts")...))
	}
	return r
}

// project is what the contract says of the record's effect on inbox and outbox.
func (m *machine) project(r sessions.Record) {
	turn, claimed := r.Claims()
	for _, id := range claimed {
		if i := m.find(id); i >= 0 {
			m.pending[i].Turn = turn
		}
	}
	for _, id := range r.Consumed {
		if i := m.find(id); i >= 0 {
			m.pending = slices.Delete(m.pending, i, i+1)
			m.gone[id] = r.At
		}
	}
	for _, row := range r.Outbox {
		row.Parts = slices.Clone(row.Parts)
		m.rows = append(m.rows, modelRow{row, r.At})
	}
}

func (m *machine) mark(t *rapid.T) {
	id := sessions.RowID("unknown")
	if len(m.rows) > 0 {
		id = rapid.SampledFrom(m.rows).Draw(t, "row").ID
	}
	c := sessions.Mark{
		Row: id, Part: rapid.IntRange(0, 1).Draw(t, "part"), From: someState.Draw(t, "from"),
		To: sessions.Part{State: someState.Draw(t, "to"), Attempts: rapid.IntRange(0, 9).Draw(t, "attempts")},
	}
	i := m.findRow(id)
	if i >= 0 && c.Part < len(m.rows[i].Parts) && rapid.Bool().Draw(t, "right") {
		c.From = m.rows[i].Parts[c.Part].State
	}
	if i < 0 || c.Part >= len(m.rows[i].Parts) || m.rows[i].Parts[c.Part].State != c.From {
		wantErr(t, m.store, c, sessions.ErrState)
		return
	}
	commit(t, m.store, c)
	m.rows[i].Parts[c.Part] = c.To
}

func (m *machine) set(t *rapid.T) {
	some := rapid.SampledFrom([]string{"", "x", "y"})
	name := rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "name")
	c := setting(name, some.Draw(t, "was"), some.Draw(t, "value"))
	if string(c.Was) != m.values[name] {
		wantErr(t, m.store, c, sessions.ErrState)
		return
	}
	commit(t, m.store, c)
	m.values[name] = string(c.Value)
}

func (m *machine) erase(t *rapid.T) {
	if len(m.old) == 0 {
		t.Skip("no lease")
	}
	c := sessions.Erase{Lease: rapid.SampledFrom(m.old).Draw(t, "lease"), At: someTime.Draw(t, "at")}
	key := c.Lease.Key
	if m.leases[key] != c.Lease {
		wantErr(t, m.store, c, sessions.ErrStale)
		return
	}
	commit(t, m.store, c)
	delete(m.log, key)
	delete(m.last, key)
	m.pending = slices.DeleteFunc(m.pending, func(p sessions.PendingItem) bool {
		if p.Key == key {
			m.gone[p.ID] = c.At
		}
		return p.Key == key
	})
	m.rows = slices.DeleteFunc(m.rows, func(r modelRow) bool { return r.Key == key })
}

// trim wants nothing to change but the beginning of the log, and takes over how much of it went.
func (m *machine) trim(t *rapid.T) {
	key := someKey.Draw(t, "key")
	before := sessions.Revision(rapid.Uint64Range(0, uint64(m.last[key])+1).Draw(t, "before"))
	n, err := m.store.Trim(t.Context(), key, before)
	if err != nil {
		t.Fatalf("trim %s before %d: %v", key, before, err)
	}
	if n == 0 {
		return
	}
	records := m.log[key]
	if n >= len(records) || records[n-1].Revision >= before || !slices.ContainsFunc(records[n:], sessions.Record.Base) {
		t.Fatalf("trim %s before %d removed %d of %+v", key, before, n, records)
	}
	m.log[key] = records[n:]
}

func (m *machine) prune(t *rapid.T) {
	before := someTime.Draw(t, "before")
	known := len(m.gone) + len(m.rows)
	maps.DeleteFunc(m.gone, func(_ sessions.ItemID, at time.Time) bool { return at.Before(before) })
	m.rows = slices.DeleteFunc(m.rows, func(r modelRow) bool { return r.Done() && r.at.Before(before) })
	wantPruned(t, m.store, before, known-len(m.gone)-len(m.rows))
}

func (m *machine) reopen(t *rapid.T) {
	if m.harness.Reopen == nil || rapid.IntRange(0, 3).Draw(t, "really") > 0 {
		t.Skip("goes on with the open store")
	}
	closeStore(t, m.store)
	m.store = m.harness.Reopen(m.test)
	m.checkLeases(t)
}

// checkLeases allows a store to forget leases when it is closed or to keep them: a lease that is still good is one
// that the model knows.
func (m *machine) checkLeases(t *rapid.T) {
	for key, l := range m.leases {
		r := said("after reopening")
		rev, err := m.store.Commit(t.Context(), sessions.Append{Lease: l, After: m.last[key], Record: r})
		switch {
		case errors.Is(err, sessions.ErrStale):
			delete(m.leases, key)
		case err != nil:
			t.Fatalf("append after reopening: %v", err)
		default:
			r.Revision = rev
			m.last[key] = rev
			m.log[key] = append(m.log[key], r)
		}
	}
}

// check compares all that can be read.
func (m *machine) check(t *rapid.T) {
	var undelivered []sessions.Row
	for _, r := range m.rows {
		if !r.Done() {
			undelivered = append(undelivered, r.Row)
		}
		got, err := m.store.Row(t.Context(), r.ID)
		if err != nil {
			t.Fatalf("row %s: %v", r.ID, err)
		}
		diff(t, "row", got, r.Row)
	}
	for name, value := range m.values {
		wantValue(t, m.store, name, value)
	}
	got := readEverything(t, m.store)
	byLane := func(a, b sessions.Row) int { return strings.Compare(a.Lane, b.Lane) }
	slices.SortStableFunc(got.Undelivered, byLane)
	slices.SortStableFunc(undelivered, byLane)
	diff(t, "undelivered", got.Undelivered, undelivered)
	diff(t, "pending", got.Pending, m.pending)
	diff(t, "keys", got.Keys, slices.Sorted(maps.Keys(m.log)))
	diff(t, "history", got.History, m.log)
}
