package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/sessions"
)

// A file of bbolt's never shrinks. A compaction copies a snapshot of it into a new file beside it, while the writer goes
// on and keeps a journal of what it does; then it does the journal's operations again in the copy, and the writer stops
// only for the last few of them and for putting the copy in the file's place. The name changes hands in one step and
// the copy is complete and synced before, so that a crash at any point leaves one good file under the name.
const draft = ".compacting" // behind the name of the file that is being made; one that is left over is removed

const (
	worthSize = 32 << 20 // a file that is smaller is never compacted by itself
	fewOps    = 32       // of the journal, for which the writer may stop
	mostTurns = 20       // after so many turns the writer stops for whatever is left
)

// removeDraft removes what a compaction has left that was cut short.
func removeDraft(path string) error {
	if err := os.Remove(path + draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what a compaction left: %w", err)
	}
	return nil
}

// journal has the operations that were committed since a snapshot was taken.
type journal struct {
	mu  sync.Mutex
	ops []op
	err error // the copy cannot be completed any more
}

// add does nothing without a journal; so does spoil.
func (j *journal) add(ops []op) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ops = append(j.ops, ops...)
}

// spoil says that a commit failed and nobody knows whether it is in the file.
func (j *journal) spoil(err error) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = err
}

func (j *journal) take() ([]op, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	ops := j.ops
	j.ops = nil
	return ops, j.err
}

// compactIfWorth compacts a file of which more than half is empty.
func (s *Store) compactIfWorth(ctx context.Context) error {
	size, err := s.Size(ctx)
	if err != nil || size.Total < worthSize || size.Free < size.Total/2 {
		return err
	}
	return s.Compact(ctx)
}

// Compact makes the file as small as its contents allow, while the store is in use. It needs room for a copy of the
// contents beside the file. If it fails the file is as before.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.compact(ctx); err != nil {
		return fmt.Errorf("compact the database: %w", err)
	}
	return nil
}

func (s *Store) compact(ctx context.Context) (err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	path := s.path + draft
	copied, err := openFile(path, false)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, copied.Close(), os.Remove(path))
		}
	}()
	copied.NoSync = true // until it is complete
	j := &journal{}
	var snapshot *bbolt.Tx
	err = s.exclusively(ctx, func() (err error) {
		if snapshot, err = s.db.Begin(false); err == nil {
			s.journal = j
		}
		return err
	})
	if err != nil {
		return err
	}
	err = s.guard(func() error {
		return copyBuckets(copied, snapshot, func() error { return s.goingOn(ctx) })
	})
	err = errors.Join(err, snapshot.Rollback())
	for turn := 0; err == nil && turn < mostTurns; turn++ {
		var ops []op
		if ops, err = j.take(); err == nil {
			err = s.again(copied, ops)
		}
		if len(ops) <= fewOps {
			break
		}
	}
	if err == nil {
		err = copied.Sync()
	}
	var old *bbolt.DB
	last := s.exclusively(context.WithoutCancel(ctx), func() error {
		s.journal = nil
		if err = errors.Join(err, s.broken()); err != nil {
			return err
		}
		old, err = s.replace(copied, j)
		return err
	})
	if last != nil {
		return last
	}
	return old.Close()
}

// replace puts the copy in the place of the file, and returns the file that was there. The writer calls it.
func (s *Store) replace(copied *bbolt.DB, j *journal) (old *bbolt.DB, err error) {
	ops, err := j.take()
	if err != nil {
		return nil, err
	}
	if err := s.again(copied, ops); err != nil {
		return nil, err
	}
	if err := copied.Sync(); err != nil {
		return nil, err
	}
	if err := os.Rename(s.path+draft, s.path); err != nil {
		return nil, err
	}
	copied.NoSync = false
	s.swap.Lock()
	old, s.db = s.db, copied
	s.swap.Unlock()
	if err := syncDir(filepath.Dir(s.path)); err != nil {
		// After a power cut the old file may be back. Nothing may be promised that would be missing there.
		s.fail(fmt.Errorf("%w: make the compacted database's name durable: %w", sessions.ErrFull, err))
	}
	return old, nil
}

// again does operations once more, in a copy.
func (s *Store) again(copied *bbolt.DB, ops []op) error {
	if len(ops) == 0 {
		return nil
	}
	return copied.Update(func(tx *bbolt.Tx) error {
		for _, o := range ops {
			if _, err := o.put(s, tx); err != nil {
				return err
			}
		}
		return nil
	})
}

// copyStep is how many bytes one transaction of the copy writes.
const copyStep = 4 << 20

// copyBuckets fills an empty file from a snapshot. It asks between two steps whether to go on.
func copyBuckets(to *bbolt.DB, from *bbolt.Tx, goingOn func() error) error {
	return from.ForEach(func(name []byte, b *bbolt.Bucket) error {
		c := b.Cursor()
		for k, v := c.First(); ; {
			if err := goingOn(); err != nil {
				return err
			}
			err := to.Update(func(tx *bbolt.Tx) error {
				into, err := tx.CreateBucketIfNotExists(name)
				if err != nil {
					return err
				}
				into.FillPercent = 0.9 // it comes in order
				for size := 0; k != nil && size < copyStep; k, v = c.Next() {
					if err := into.Put(k, v); err != nil {
						return err
					}
					size += len(k) + len(v)
				}
				return into.SetSequence(b.Sequence())
			})
			if err != nil || k == nil {
				return err
			}
		}
	})
}

// enter waits for its turn to read all of the file, until leave is called.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	select {
	case s.copying <- struct{}{}:
	case <-s.quit:
		return nil, sessions.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	leave = func() { <-s.copying }
	if err := s.goingOn(ctx); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// goingOn returns why something long must not go on.
func (s *Store) goingOn(ctx context.Context) error {
	select {
	case <-s.quit:
		return sessions.ErrClosed
	default:
		return ctx.Err()
	}
}
