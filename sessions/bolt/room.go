package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// When the disk is full, or cannot be written to, the store takes no new work but goes on to take what ends work that is
// running, above all the marks of what has been sent. A ballast keeps room for that: a file that is given up then. The
// store looks again every few seconds; there is room when the ballast can be made anew, with some more beside it.

// probeEvery is how often that is.
const probeEvery = 5 * time.Second

func ballastFile(path string) string { return filepath.Join(filepath.Dir(path), "ballast") }

// KeepBallast makes a file of so many bytes beside the database, to be given up when the disk is full. If there is no
// room for it, there is none for new work either.
func (s *Store) KeepBallast(ctx context.Context, size int64) error {
	return s.exclusively(ctx, func() error {
		s.ballast = size
		err := s.makeBallast()
		if noRoom(err) {
			s.runFull()
			return nil
		}
		return err
	})
}

// makeBallast writes the ballast, unless it is there.
func (s *Store) makeBallast() (err error) {
	path := ballastFile(s.path)
	if info, err := os.Stat(path); err == nil && info.Size() == s.ballast {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("make the ballast: %w", err)
	}
	noise := rand.NewChaCha8([32]byte{1}) // a file system may store zeros without room
	chunk := make([]byte, 64<<10)
	for left := s.ballast + grown; left > 0 && err == nil; left -= int64(len(chunk)) {
		_, _ = noise.Read(chunk) // never fails
		_, err = f.Write(chunk[:min(int64(len(chunk)), left)])
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Truncate(s.ballast) // the file of the database must be able to grow
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("make the ballast: %w", err), os.Remove(path))
	}
	return nil
}

// runFull gives up the ballast and begins to look for room.
func (s *Store) runFull() {
	if err := os.Remove(ballastFile(s.path)); err == nil || !errors.Is(err, fs.ErrNotExist) {
		_ = syncDir(filepath.Dir(s.path)) // it has done its work, or there is none to be had
	}
	s.full.Store(true)
	s.probe = time.After(probeEvery)
}

// lookForRoom goes back to taking everything when there is room for the ballast. Without one, the next commit tells.
func (s *Store) lookForRoom() {
	if s.ballast > 0 && s.makeBallast() != nil {
		s.probe = time.After(probeEvery)
		return
	}
	s.full.Store(false)
}

// noRoom tells whether something failed because the disk is full or cannot be written to. bbolt wraps some of these
// errors by their text alone.
func noRoom(err error) bool {
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EROFS} {
		if errors.Is(err, cause) || err != nil && strings.Contains(err.Error(), cause.Error()) {
			return true
		}
	}
	return false
}

// refuseNew refuses those requests that would begin something.
func refuseNew(requests []request, refused []error) {
	for i, r := range requests {
		switch o := r.op.(type) {
		case *accept:
			refused[i] = sessions.ErrFull
		case *appendOp:
			if slices.ContainsFunc(o.Record.Entries, startsTurn) {
				refused[i] = sessions.ErrFull
			}
		}
	}
}

func startsTurn(e sessions.Entry) bool {
	_, ok := e.(sessions.TurnStarted)
	return ok
}
