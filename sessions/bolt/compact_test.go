package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/sessions"
)

func openTest(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// say appends a text to a log, and returns the lease and the revision to go on with.
func say(t *testing.T, s *Store, l sessions.Lease, after sessions.Revision, text string) sessions.Revision {
	t.Helper()
	r := sessions.Record{Entries: []sessions.Entry{
		sessions.UserMessage{Message: sessions.Message{Role: sessions.RoleUser, Text: text}},
	}}
	rev, err := s.Commit(t.Context(), sessions.Append{Lease: l, After: after, Record: r})
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func begin(t *testing.T, s *Store, key sessions.Key) (sessions.Lease, sessions.Revision) {
	t.Helper()
	c, err := s.Acquire(t.Context(), key, "o")
	if err != nil {
		t.Fatal(err)
	}
	return c.Lease, c.Revision
}

// contents returns everything in the file.
func contents(t *testing.T, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for key, err := range s.Keys(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range s.History(t.Context(), key, 0) {
			if err != nil {
				t.Fatal(err)
			}
			data, err := r.Encode()
			if err != nil {
				t.Fatal(err)
			}
			all[fmt.Sprintf("%s@%d", key, r.Revision)] = string(data)
		}
	}
	for i, err := range s.Pending(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all["item "+string(i.ID)] = i.Turn
	}
	return all
}

// fill makes a file with many texts, most of which are erased again.
func fill(t *testing.T, s *Store) {
	t.Helper()
	for k := range 10 {
		l, rev := begin(t, s, sessions.Key(fmt.Sprintf("k%d", k)))
		for n := range 5 {
			rev = say(t, s, l, rev, strings.Repeat(fmt.Sprintf("%d.%d ", k, n), 40_000))
		}
		if k > 0 {
			if _, err := s.Commit(t.Context(), sessions.Erase{Lease: l}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestCompact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "talaria.db")
	s := openTest(t, path)
	fill(t, s)
	l, rev := begin(t, s, "k0")
	before, err := s.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := contents(t, s)
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := s.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if after.Total > before.Total/2 || info.Size() > after.Total+grown || info.Mode() != 0o600 {
		t.Errorf("size %+v before, %+v after; the file has %d bytes and mode %v", before, after, info.Size(), info.Mode())
	}
	if d := cmp.Diff(want, contents(t, s)); d != "" {
		t.Errorf("contents changed:\n%s", d)
	}
	say(t, s, l, rev, "the lease is still good")
	want = contents(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, contents(t, openTest(t, path))); d != "" {
		t.Errorf("contents changed at the next start:\n%s", d)
	}
	if _, err := os.Stat(path + draft); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the draft is there: %v", err)
	}
}

// TestCompactWhileWriting: writers and readers go on, and whatever was committed, before or meanwhile, is there.
func TestCompactWhileWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "talaria.db")
	s := openTest(t, path)
	fill(t, s)
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	written := make([]int, 4)
	for w := range written {
		writers.Go(func() {
			key := sessions.Key(fmt.Sprintf("w%d", w))
			c, err := s.Acquire(ctx, key, "o")
			rev := c.Revision
			for err == nil {
				r := sessions.Record{Entries: []sessions.Entry{sessions.Reset{By: fmt.Sprint(written[w])}}}
				if rev, err = s.Commit(context.WithoutCancel(ctx), sessions.Append{Lease: c.Lease, After: rev, Record: r}); err != nil {
					t.Error(err)
				}
				written[w]++
				item := sessions.Item{ID: sessions.ItemID(fmt.Sprintf("%d/%d", w, written[w])), Key: key}
				if _, err := s.Commit(context.WithoutCancel(ctx), sessions.Accept{Item: item}); err != nil {
					t.Error(err)
				}
				err = ctx.Err()
			}
		})
	}
	for range 5 {
		if err := s.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	writers.Wait()
	all := contents(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(all, contents(t, openTest(t, path))); d != "" {
		t.Errorf("contents changed at the next start:\n%s", d)
	}
	for w, n := range written {
		for i := 1; i <= n; i++ {
			if _, ok := all[fmt.Sprintf("w%d@%d", w, i)]; !ok {
				t.Fatalf("record %d of writer %d is lost", i, w)
			}
			if _, ok := all[fmt.Sprintf("item %d/%d", w, i)]; !ok {
				t.Fatalf("item %d of writer %d is lost", i, w)
			}
		}
	}
}

// TestCompactionCutShort: one that ends early, for whatever reason, leaves the file as it was.
func TestCompactionCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "talaria.db")
	s := openTest(t, path)
	fill(t, s)
	want := contents(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Compact(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	done := make(chan error)
	go func() { done <- s.Compact(t.Context()) }()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil && !errors.Is(err, sessions.ErrClosed) {
		t.Errorf("while the store is closed: %v", err)
	}
	if err := os.WriteFile(path+draft, []byte("half of a cop"), 0o600); err != nil { // as a crash would leave it
		t.Fatal(err)
	}
	s = openTest(t, path)
	if d := cmp.Diff(want, contents(t, s)); d != "" {
		t.Errorf("contents changed:\n%s", d)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPruneCompacts a big file that is mostly empty.
func TestPruneCompacts(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "talaria.db"))
	l, rev := begin(t, s, "k")
	say(t, s, l, rev, strings.Repeat("x", worthSize))
	if _, err := s.Commit(t.Context(), sessions.Erase{Lease: l}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if size, err := s.Size(t.Context()); err != nil || size.Total > worthSize/2 {
		t.Fatalf("size %+v, %v", size, err)
	}
}

// TestBackup makes one while writers go on, and starts from it.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, filepath.Join(dir, "talaria.db"))
	fill(t, s)
	l, rev := begin(t, s, "k0")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				rev = say(t, s, l, rev, "meanwhile")
			}
		}
	}()
	before := contents(t, s)
	path := filepath.Join(dir, "backup.db")
	if err := s.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	close(stop)
	<-stopped
	if err := s.Backup(t.Context(), path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second backup into the same file: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("backup: mode %v, %v", info.Mode(), err)
	}
	restored := contents(t, openTest(t, path))
	for name, data := range before {
		if restored[name] != data {
			t.Errorf("%s is not in the backup", name)
		}
	}
	all := contents(t, s)
	for name, data := range restored {
		if all[name] != data {
			t.Errorf("%s is only in the backup", name)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "late.db")
	if err := s.Backup(t.Context(), path); !errors.Is(err, sessions.ErrClosed) {
		t.Errorf("backup of a closed store: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a failed backup left a file")
	}
}

// TestBackupDuringCompaction: a backup that is taken while the file is compacted and written to is whole, and has all that
// was committed before it was asked for.
func TestBackupDuringCompaction(t *testing.T) {
	folder := t.TempDir()
	s := openTest(t, filepath.Join(folder, "talaria.db"))
	fill(t, s)
	l, rev := begin(t, s, "load")
	var committed atomic.Uint64
	stop := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			var err error
			r := sessions.Record{Entries: []sessions.Entry{sessions.UserMessage{Message: sessions.Message{Role: sessions.RoleUser, Text: "word"}}}}
			if rev, err = s.Commit(context.Background(), sessions.Append{Lease: l, After: rev, Record: r}); err != nil {
				t.Error(err)
				return
			}
			committed.Store(uint64(rev))
		}
	})
	for n := range 4 {
		var copying sync.WaitGroup
		copying.Go(func() {
			if err := s.Compact(context.Background()); err != nil {
				t.Error(err)
			}
		})
		path := filepath.Join(folder, fmt.Sprint("backup", n))
		before := committed.Load()
		if err := s.Backup(t.Context(), path); err != nil {
			t.Error(err)
		}
		copying.Wait()
		if err := Check(path); err != nil {
			t.Error(err)
		}
		b := openTest(t, path)
		last := sessions.Revision(0)
		for r, err := range b.History(t.Context(), "load", 0) {
			if err != nil || r.Revision != last+1 {
				t.Errorf("record %d follows %d (%v)", r.Revision, last, err)
			}
			last = r.Revision
		}
		if uint64(last) < before || len(contents(t, b)) < int(last)+5 {
			t.Errorf("backup %d ends at record %d; %d were there before", n, last, before)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	working.Wait()
}
