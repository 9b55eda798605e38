package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// Repaired says what a repair has saved.
type Repaired struct {
	Aside string // where the damaged file is kept
	Logs  []RepairedLog
	Items int // that wait in the inbox
	Rows  int // of the outbox
	// Lost has what could not be read and belongs to no log that is known.
	Lost []string
}

// RepairedLog says what was saved of one conversation.
type RepairedLog struct {
	Key   sessions.Key
	Saved int // records
	Lost  int // records that are known to be missing
	Reset bool
	// From is the first record that is there. What was before it is lost, or was removed for its age: the file does not tell.
	From sessions.Revision
}

// Repair makes a new file of what can be read in a damaged one that no process has open: the newest state, and where that
// is damaged the state before and whatever stands in pages that are neither in use nor free. A log that has a gap where
// its session begins anew after it, so that it can be gone on with. The new file is complete before it takes the old one's
// name; the old one is kept beside it.
func Repair(path string) (Repaired, error) {
	r, err := repair(path)
	if err != nil {
		return r, fmt.Errorf("repair %s: %w", path, err)
	}
	return r, nil
}

func repair(path string) (r Repaired, err error) {
	file, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer file.Close() // nothing was written
	info, err := file.Stat()
	if err != nil {
		return r, err
	}
	if _, err := readImage(file, info.Size()); err != nil {
		return r, fmt.Errorf("nothing can be saved: %w", err)
	}
	unlock, err := lock(path)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	i, err := readImage(file, info.Size())
	if err != nil {
		return r, fmt.Errorf("nothing can be saved: %w", err)
	}
	s := salvageFrom(i)
	if err := s.checkFormat(); err != nil {
		return r, err
	}
	draft := path + ".repaired"
	if err := os.Remove(draft); err != nil && !errors.Is(err, os.ErrNotExist) {
		return r, err
	}
	db, err := openFile(draft, false)
	if err != nil {
		return r, err
	}
	r, err = s.write(db)
	if err = errors.Join(err, db.Close()); err != nil {
		return r, errors.Join(err, os.Remove(draft))
	}
	r.Aside = fmt.Sprintf("%s.damaged-%s", path, time.Now().UTC().Format("20060102-150405"))
	if err := os.Link(path, r.Aside); err != nil {
		return r, fmt.Errorf("keep the damaged file: %w", err)
	}
	return r, errors.Join(os.Rename(draft, path), syncDir(filepath.Dir(path)))
}

func (s *salvage) checkFormat() error {
	b, ok := s.found[string(metaBucket)][string(formatKey)]
	if ok && (len(b) != 8 || binary.BigEndian.Uint64(b) != format) {
		return formatError(b)
	}
	return nil
}
