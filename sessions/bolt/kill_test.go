package bolt_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

// victimPath names the file that a process started by TestKill writes to until it is killed.
const victimPath = "TALARIA_TEST_BOLT_VICTIM"

const victims = 4 // goroutines, each with a conversation of its own

// TestKill kills a process that commits as fast as it can. Whatever it had reported as committed is there, and nothing
// is half there.
func TestKill(t *testing.T) {
	if path := os.Getenv(victimPath); path != "" {
		dieWriting(t, path)
		return
	}
	for _, reports := range []int{1, 7, 40, 41} {
		path := filepath.Join(t.TempDir(), "talaria.db")
		reported := killAfter(t, path, reports)
		s, err := bolt.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		checkSurvivor(t, s, reported)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killAfter starts a victim, kills it after so many reports, and returns the ids of all items that it reported.
func killAfter(t *testing.T, path string, reports int) (ids []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestKill$")
	cmd.Env = append(os.Environ(), victimPath+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() { // to the end: a report may be in the pipe when the kill comes
		ids = append(ids, lines.Text())
		if len(ids) == reports {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || len(ids) < reports {
		t.Fatalf("the process ended by itself, %v, after %q", err, ids)
	}
	return ids
}

// dieWriting accepts items and answers them, and reports each answer, until the process is killed.
func dieWriting(t *testing.T, path string) {
	s, err := bolt.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for v := range victims {
		wg.Go(func() {
			key := sessions.Key(fmt.Sprint("k", v))
			c, err := s.Acquire(context.Background(), key, "victim")
			rev := c.Revision
			for i := 0; err == nil; i++ {
				id := fmt.Sprintf("%s/%d", key, i)
				if _, err = s.Commit(context.Background(), sessions.Accept{Item: sessions.Item{ID: sessions.ItemID(id), Key: key}}); err != nil {
					break
				}
				r := sessions.Record{
					Entries:  []sessions.Entry{sessions.UserMessage{Message: sessions.Message{Role: sessions.RoleUser, Text: id}}},
					Consumed: []sessions.ItemID{sessions.ItemID(id)},
					Outbox:   []sessions.Row{{ID: sessions.RowID(id), Key: key, Lane: "L", Parts: []sessions.Part{{State: sessions.Queued}}}},
				}
				rev, err = s.Commit(context.Background(), sessions.Append{Lease: c.Lease, After: rev, Record: r})
				if err == nil {
					fmt.Println(id)
				}
			}
			t.Error(err)
		})
	}
	wg.Wait()
}

func checkSurvivor(t *testing.T, s *bolt.Store, reported []string) {
	t.Helper()
	ctx := t.Context()
	answered := make(map[string]bool)
	for v := range victims {
		for r, err := range s.History(ctx, sessions.Key(fmt.Sprint("k", v)), 0) {
			if err != nil {
				t.Fatal(err)
			}
			id := r.Entries[0].(sessions.UserMessage).Message.Text
			answered[id] = true
			if _, err := s.Row(ctx, sessions.RowID(id)); err != nil {
				t.Errorf("record of %s without its row: %v", id, err)
			}
		}
	}
	for _, id := range reported {
		if !answered[id] {
			t.Errorf("%s was reported and is lost", id)
		}
	}
	rows := 0
	for r, err := range s.Undelivered(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		rows++
		if !answered[string(r.ID)] {
			t.Errorf("row %s without its record", r.ID)
		}
	}
	if rows != len(answered) {
		t.Errorf("%d rows of %d records", rows, len(answered))
	}
	for p, err := range s.Pending(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if answered[string(p.ID)] {
			t.Errorf("item %s is pending and answered", p.ID)
		}
	}
}
