package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"github.com/talaria-agent/talaria/sessions"
)

// sample makes a file with logs of many sizes, some of them erased, an inbox and an outbox, and leaves it as a crash would.
func sample(t *testing.T, path string) {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for k := range 30 {
		key := sessions.Key(fmt.Sprintf("k%02d", k))
		l, rev := begin(t, s, key)
		for n := range 1 + k%7 {
			rev = say(t, s, l, rev, fmt.Sprintf("%d.%d %s", k, n, strings.Repeat("text ", 40*k)))
		}
		if k%5 == 4 {
			if _, err := s.Commit(t.Context(), sessions.Erase{Lease: l}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		item := sessions.Item{ID: sessions.ItemID("i" + key), Key: key, Payload: []byte("payload")}
		if _, err := s.Commit(t.Context(), sessions.Accept{Item: item}); err != nil {
			t.Fatal(err)
		}
		row := sessions.Row{ID: sessions.RowID("r" + key), Key: key, Lane: "L", Parts: []sessions.Part{{State: sessions.Queued}}}
		r := sessions.Record{Entries: []sessions.Entry{sessions.Reset{By: "U"}}, Outbox: []sessions.Row{row}}
		if _, err := s.Commit(t.Context(), sessions.Append{Lease: l, After: rev, Record: r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := openFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Delete(cleanKey) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// layout says what is where in an undamaged file.
type layout struct {
	meta                   // of the newest state
	pageSize int64         //
	logs     map[int][]int // page → the logs of which it has records
	free     map[uint64]bool
}

func layoutOf(t *testing.T, path string) layout {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	i, err := readImage(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	l := layout{meta: i.metas[0], pageSize: i.pageSize, logs: map[int][]int{}}
	w := i.walker(i.metas[0], func(err error) { t.Fatal(err) })
	w.buckets(func(_ string, _ uint64, entries func(func(element))) { entries(func(element) {}) })
	if l.free, err = w.free(); err != nil {
		t.Fatal(err)
	}
	for id := range w.reached {
		p, err := i.readPage(i.metas[0], id)
		if err != nil || p.flags != leafPage {
			continue // the middle of a long page, or a branch
		}
		for n := range p.count {
			e, err := p.element(n)
			if err != nil {
				t.Fatal(err)
			}
			var k int
			if kindOf(e) != string(recordsBucket) {
				continue
			}
			if _, err := fmt.Sscanf(string(e.key), "k%02d", &k); err != nil {
				t.Fatal(err)
			}
			for at := range len(p.data) / int(i.pageSize) {
				l.logs[int(id)+at] = append(l.logs[int(id)+at], k)
			}
		}
	}
	return l
}

// damage changes bytes of a file at random, or cuts it off, and returns the pages that were hit.
func damage(t *rapid.T, data []byte, pageSize int) (damaged []byte, hit map[int]bool) {
	hit = map[int]bool{}
	for range rapid.IntRange(0, 3).Draw(t, "flips") {
		at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
		if rapid.Bool().Draw(t, "in a header") { // where it hurts most
			at = at/pageSize*pageSize + at%32
		}
		data[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		hit[at/pageSize] = true
	}
	if rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
		end := rapid.IntRange(0, len(data)).Draw(t, "end")
		for id := end / pageSize; id*pageSize < len(data); id++ {
			hit[id] = true
		}
		data = data[:end]
	}
	return data, hit
}

// TestDamage: whatever happens to the file, opening and reading it never ends the process, and a repair saves every log
// whose own pages were not hit.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sample.db")
	sample(t, path)
	where := layoutOf(t, path)
	original, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	original = original[:int64(where.end)*where.pageSize]
	whole := contents(t, openTest(t, path))
	tries := 0
	rapid.Check(t, func(rt *rapid.T) {
		data, hit := damage(rt, append([]byte{}, original...), int(where.pageSize))
		tries++
		path := filepath.Join(dir, fmt.Sprintf("%d.db", tries))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
		s, err := Open(path)
		switch {
		case err == nil:
			for key := range s.Keys(t.Context()) {
				for range s.History(t.Context(), key, 0) {
				}
			}
			if err := s.Close(); err != nil {
				rt.Fatalf("close: %v", err)
			}
			return // what was hit was free, or the inside of a text
		case !errors.Is(err, sessions.ErrCorrupt) && !errors.Is(err, sessions.ErrFormat):
			rt.Fatalf("open: %v", err)
		}
		repaired, err := Repair(path)
		if (hit[0] && hit[1]) || len(data) < 2*int(where.pageSize) {
			return // nothing says where anything is
		}
		if err != nil {
			rt.Fatalf("repair: %v", err)
		}
		defer os.Remove(repaired.Aside)
		if err := Check(path); err != nil {
			rt.Fatalf("after the repair: %v", err)
		}
		want := expected(whole, where, hit)
		s, err = Open(path)
		if err != nil {
			rt.Fatalf("open after the repair: %v", err)
		}
		defer s.Close()
		got := contents(t, s)
		for name, data := range want {
			if got[name] != data {
				rt.Fatalf("%s is lost: %.20q, want %.20q; lost: %q", name, got[name], data, repaired.Lost)
			}
		}
		for name, data := range got {
			if strings.HasPrefix(name, "k04@") && data != "" {
				rt.Fatalf("what was erased is back: %s", name)
			}
		}
	})
}

// expected is what must be there after a repair: the records that stand in pages that were not hit. If the list of free
// pages, or a beginning, was hit, only what the trees lead to can be told from what was erased, so that nothing is
// expected if anything else was hit as well.
func expected(whole map[string]string, where layout, hit map[int]bool) map[string]string {
	lost := map[int]bool{}
	others := false
	for id := range hit {
		for _, k := range where.logs[id] {
			lost[k] = true
		}
		others = others || (id > 1 && uint64(id) != where.freelist && !where.free[uint64(id)])
	}
	want := map[string]string{}
	if (hit[0] || hit[1] || hit[int(where.freelist)]) && others {
		return want
	}
	for name, data := range whole {
		var k, rev int
		if _, err := fmt.Sscanf(name, "k%02d@%d", &k, &rev); err == nil && !lost[k] {
			want[name] = data
		}
	}
	return want
}

// TestRepairSavesEverythingElse destroys one page of one log, each of them in turn, and wants all of the rest, with a new
// session where the log has lost its end.
func TestRepairSavesEverythingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "talaria.db")
	sample(t, path)
	s := openTest(t, path)
	whole := contents(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	where := layoutOf(t, path)
	original, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pages, front, reset := 0, 0, 0
	for id, logs := range where.logs {
		if logs[0] != 27 || logs[len(logs)-1] != 27 {
			continue
		}
		l := repairWithout(t, original, where, id, whole)
		pages++
		if l.From > 1 {
			front++
		}
		if l.Reset { // the sample ends each log with a reset, so that otherwise none has to be made
			reset++
		}
	}
	if front == 0 || reset == 0 || front+reset == pages {
		t.Errorf("of %d pages %d held the beginning and %d the end", pages, front, reset)
	}
}

// repairWithout destroys a page of the log k27, and returns what the repair says about that.
func repairWithout(t *testing.T, original []byte, where layout, page int, whole map[string]string) (hit RepairedLog) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "talaria.db")
	data := bytes.Clone(original)
	clear(data[page*int(where.pageSize) : (page+1)*int(where.pageSize)])
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, sessions.ErrCorrupt) {
		t.Fatalf("open: %v", err)
	}
	r, err := Repair(path)
	if err != nil {
		t.Fatal(err)
	}
	if r.Items != 24 || r.Rows != 24 || len(r.Logs) != 24 {
		t.Errorf("%d items, %d rows, %d logs; want 24 of each", r.Items, r.Rows, len(r.Logs))
	}
	for _, l := range r.Logs {
		if l.Key == "k27" {
			hit = l
		} else if l.Lost > 0 || l.Reset || l.From != 1 {
			t.Errorf("%+v", l)
		}
	}
	records := 0
	for name := range whole {
		if strings.HasPrefix(name, "k27@") {
			records++
		}
	}
	if lost := hit.Lost + int(hit.From) - 1; lost == 0 || hit.Saved+lost != records {
		t.Errorf("of %d records: %+v", records, hit)
	}
	if _, err := os.Stat(r.Aside); err != nil {
		t.Error(err)
	}
	got := contents(t, openTest(t, path))
	for name, data := range whole {
		if !strings.HasPrefix(name, "k27@") && got[name] != data {
			t.Errorf("%s: %s", name, cmp.Diff(data, got[name]))
		}
	}
	return hit
}

// TestBadPageWhileRunning: with the first bad page the store stops, says why, and lets go of the file.
func TestBadPageWhileRunning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "talaria.db")
	sample(t, path)
	where := layoutOf(t, path)
	s := openTest(t, path)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for id := range where.logs {
		if _, err := f.WriteAt(make([]byte, where.pageSize), int64(id)*where.pageSize); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Acquire(t.Context(), "k01", "o"); !errors.Is(err, sessions.ErrCorrupt) {
		t.Fatalf("acquire: %v", err)
	}
	_, err = s.Commit(t.Context(), sessions.Accept{Item: sessions.Item{ID: "new", Key: "k"}})
	if !errors.Is(err, sessions.ErrCorrupt) || !errors.Is(s.Trouble(), sessions.ErrCorrupt) {
		t.Fatalf("accept: %v; trouble: %v", err, s.Trouble())
	}
	if err := s.Close(); !errors.Is(err, sessions.ErrCorrupt) {
		t.Errorf("close: %v", err)
	}
	if _, err := Open(path); !errors.Is(err, sessions.ErrCorrupt) {
		t.Errorf("open: %v", err)
	}
}
