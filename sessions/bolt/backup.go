package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/sessions"
)

// Size implements sessions.Store.
func (s *Store) Size(ctx context.Context) (size sessions.Size, err error) {
	if err = ctx.Err(); err == nil {
		err = s.view(func(tx *bbolt.Tx) error {
			stats := tx.DB().Stats()
			size.Total = tx.Size()
			size.Free = int64(stats.FreePageN+stats.PendingPageN) * int64(tx.DB().Info().PageSize)
			return nil
		})
	}
	if err != nil {
		return size, fmt.Errorf("size of the database: %w", err)
	}
	return size, nil
}

// Backup writes what the store holds at one moment into a new file (mode 0600), while the store is in use. The file is
// complete and durable when it returns nil, and not there otherwise. A file that exists is never written over.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := s.backup(ctx, path); err != nil {
		return fmt.Errorf("backup to %s: %w", path, err)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, path string) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = s.snapshot(ctx, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// snapshot writes the file as it is now.
func (s *Store) snapshot(ctx context.Context, w io.Writer) error {
	tx, err := s.db.Begin(false) // nothing replaces db meanwhile
	if err != nil {
		return err
	}
	_, err = tx.WriteTo(writer{w, func() error { return s.goingOn(ctx) }})
	return errors.Join(err, tx.Rollback())
}

// writer asks before each write whether to go on.
type writer struct {
	io.Writer
	goingOn func() error
}

func (w writer) Write(p []byte) (int, error) {
	if err := w.goingOn(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}
