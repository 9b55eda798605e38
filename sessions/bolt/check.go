package bolt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/talaria-agent/talaria/sessions"
)

const (
	mostFindings = 10       // damages that are named
	smallFile    = 16 << 20 // bytes that take so little time to read that they are read at every start
)

// Check reads all of a file that no process has open, and fails with sessions.ErrCorrupt if something in it is damaged. It
// changes nothing. A file that is not there is not damaged.
func Check(path string) error {
	if err := examine(path, true); err != nil {
		return fmt.Errorf("check %s: %w", path, err)
	}
	return nil
}

// examine looks at a file before bbolt opens it: at all of it if it was not closed properly, is small, or everything is
// wanted, and otherwise only at what bbolt reads at once.
func examine(path string, everything bool) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close() // nothing was written
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	if _, err := readImage(file, info.Size()); errors.Is(err, errForeign) {
		return fmt.Errorf("%w: %w", sessions.ErrFormat, err)
	} else if err != nil {
		return fmt.Errorf("%w: %w", sessions.ErrCorrupt, err)
	}
	unlock, err := lock(path)
	if err != nil {
		return err
	}
	i, err := readImage(file, info.Size())
	if err == nil {
		err = i.examine(everything || info.Size() < smallFile)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", sessions.ErrCorrupt, err)
	}
	return errors.Join(err, unlock())
}

// lock keeps other processes from writing to a file: it is opened for reading, in which bbolt looks only at the
// beginnings.
func lock(path string) (unlock func() error, err error) {
	var db *bbolt.DB
	err = guarded(func() (err error) {
		db, err = openFile(path, true)
		return err
	})
	switch {
	case errors.Is(err, bbolterrors.ErrTimeout):
		return nil, sessions.ErrInUse
	case err != nil:
		return nil, err
	}
	return db.Close, nil
}

// examine reads the newest state.
func (i *image) examine(everything bool) error {
	var found []error
	more := 0
	w := i.walker(i.metas[0], func(err error) {
		if len(found) == mostFindings {
			more++
			return
		}
		found = append(found, err)
	})
	free, err := w.free()
	if err != nil {
		w.damaged(err)
	}
	w.buckets(func(name string, _ uint64, entries func(func(element))) {
		if name == string(metaBucket) {
			clean := false
			entries(func(e element) { clean = clean || bytes.Equal(e.key, cleanKey) })
			everything = everything || !clean // it comes before the buckets with the contents
			return
		}
	})
	if !everything {
		return errors.Join(found...)
	}
	w.visited, w.reached = map[uint64]bool{}, map[uint64]bool{}
	w.buckets(func(name string, _ uint64, entries func(func(element))) {
		entries(func(e element) {
			if jsonBuckets[name] && !json.Valid(e.value) {
				w.damaged(fmt.Errorf("%s: the entry %q cannot be read", name, e.key))
			}
		})
	})
	for id := range w.reached {
		if free[id] {
			w.damaged(fmt.Errorf("page %d is in use and free", id))
		}
	}
	if more > 0 {
		found = append(found, fmt.Errorf("and %d more", more))
	}
	return errors.Join(found...)
}
