package bolt

import (
	"fmt"
	"runtime/debug"

	"github.com/talaria-agent/talaria/sessions"
)

// fail makes all later calls fail, until the file is opened anew. The first cause counts.
func (s *Store) fail(err error) { s.failed.CompareAndSwap(nil, &err) }

// broken returns why the store has failed.
func (s *Store) broken() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// guarded runs something on a file, and makes an error of what bbolt does with a damaged one: it panics, or reads where
// nothing is mapped.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", sessions.ErrCorrupt, p)
		}
	}()
	return do()
}

// guard is guarded for the store's own file: with the first bad page the store fails, so that nothing is written on top
// of the damage.
func (s *Store) guard(do func() error) error {
	if err := s.broken(); err != nil {
		return err
	}
	bad := false
	err := guarded(func() error {
		bad = true
		err := do()
		bad = false
		return err
	})
	if bad {
		s.fail(err)
	}
	return err
}

// Trouble returns why the store cannot take new work: sessions.ErrCorrupt or sessions.ErrFull, nil if it can.
func (s *Store) Trouble() error {
	if err := s.broken(); err != nil || !s.full.Load() {
		return err
	}
	return sessions.ErrFull
}
