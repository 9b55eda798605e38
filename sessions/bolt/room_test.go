package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/sessions"
)

// noRoomFrom lets all commits fail from now on, as a full disk does or one that became read-only, until room is true.
func noRoomFrom(t *testing.T, s *Store, cause error, room *bool) {
	t.Helper()
	err := s.exclusively(t.Context(), func() error {
		s.commit = func(tx *bbolt.Tx) error {
			if *room {
				return tx.Commit()
			}
			return errors.Join(fmt.Errorf("write: %w", cause), tx.Rollback())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFull: from the commit that finds no room on, new work is refused, what ends running work is taken with the room of
// the ballast, and everything is taken again when there is room.
func TestFull(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EROFS} {
		t.Run(cause.Error(), func(t *testing.T) { testFull(t, cause) })
	}
}

func testFull(t *testing.T, cause error) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "talaria.db")
		s := openTest(t, path)
		if err := s.KeepBallast(t.Context(), 1<<20); err != nil {
			t.Fatal(err)
		}
		ballast := ballastFile(path)
		if info, err := os.Stat(ballast); err != nil || info.Size() != 1<<20 || info.Mode() != 0o600 {
			t.Fatalf("ballast: %v, %v", info, err)
		}
		l, rev := begin(t, s, "k")
		rev = say(t, s, l, rev, "before")
		room := false
		noRoomFrom(t, s, cause, &room)
		hold := ballast + "/held" // a folder in its place: it cannot be made anew
		attempt := func(c sessions.Commit) error {
			_, err := s.Commit(t.Context(), c)
			return err
		}
		end := sessions.Append{Lease: l, After: rev, Record: sessions.Record{Entries: []sessions.Entry{sessions.Reset{By: "U"}}}}
		if err := attempt(end); !errors.Is(err, sessions.ErrFull) {
			t.Fatalf("append without any room: %v", err)
		}
		if _, err := os.Stat(ballast); err == nil {
			t.Fatal("the ballast is still there")
		}
		if err := os.MkdirAll(hold, 0o700); err != nil {
			t.Fatal(err)
		}
		room = true // what the ballast gives
		if err := attempt(sessions.Accept{Item: sessions.Item{ID: "i", Key: "k"}}); !errors.Is(err, sessions.ErrFull) {
			t.Errorf("accept: %v", err)
		}
		start := sessions.Append{Lease: l, After: rev, Record: sessions.Record{Entries: []sessions.Entry{sessions.TurnStarted{Turn: "t"}}}}
		if err := attempt(start); !errors.Is(err, sessions.ErrFull) {
			t.Errorf("the start of a turn: %v", err)
		}
		if err := attempt(end); err != nil {
			t.Errorf("the end of a turn: %v", err)
		}
		if err := s.Trouble(); !errors.Is(err, sessions.ErrFull) {
			t.Errorf("trouble: %v", err)
		}
		time.Sleep(time.Minute)
		if s.Trouble() == nil {
			t.Error("it has found room that is not there")
		}
		if err := os.RemoveAll(ballast); err != nil {
			t.Fatal(err)
		}
		time.Sleep(probeEvery + time.Second)
		if err := errors.Join(s.Trouble(), attempt(sessions.Accept{Item: sessions.Item{ID: "i", Key: "k"}})); err != nil {
			t.Errorf("with room again: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
