package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/talaria-agent/talaria/sessions"
)

// TestFullDisk fills a real file system of a few MiB.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=12m"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "state", "talaria.db")
	s := openTest(t, path)
	if err := s.KeepBallast(t.Context(), 2<<20); err != nil {
		t.Fatal(err)
	}
	l, rev := begin(t, s, "k")
	row := sessions.Row{ID: "r", Key: "k", Lane: "L", Parts: []sessions.Part{{State: sessions.Sending}}}
	c := sessions.Append{Lease: l, After: rev, Record: sessions.Record{Outbox: []sessions.Row{row}}}
	if _, err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	var accepted []string
	var err error
	for n := 0; err == nil && n < 1000; n++ {
		id := sessions.ItemID(fmt.Sprint(n))
		if _, err = s.Commit(t.Context(), sessions.Accept{Item: sessions.Item{ID: id, Key: "k", Payload: make([]byte, 100_000)}}); err == nil {
			accepted = append(accepted, string(id))
		}
	}
	if !errors.Is(err, sessions.ErrFull) || len(accepted) < 20 {
		t.Fatalf("after %d items: %v", len(accepted), err)
	}
	if _, err := s.Commit(t.Context(), sessions.Mark{Row: "r", From: sessions.Sending, To: sessions.Part{State: sessions.Sent}}); err != nil {
		t.Errorf("mark: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	filler := filepath.Join(dir, "filler") // whatever else fills a disk
	data := []byte(strings.Repeat("x", 64<<10))
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(data)
	}
	f.Close() // it is full

	s, err = Open(path)
	if err != nil {
		// Not even the start can be noted, and the ballast has been used up: it says why, and works when there is room.
		if !noRoom(err) {
			t.Fatal(err)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		s = openTest(t, path)
	} else {
		t.Cleanup(func() { s.Close() })
	}
	var got []string
	for i, err := range s.Pending(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(i.ID))
	}
	if strings.Join(got, " ") != strings.Join(accepted, " ") {
		t.Errorf("%d items are there, %d were accepted", len(got), len(accepted))
	}
	if r, err := s.Row(t.Context(), "r"); err != nil || r.Parts[0].State != sessions.Sent {
		t.Errorf("row %+v, %v", r, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
