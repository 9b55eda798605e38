package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/talaria-agent/talaria/sessions"
	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// openMade opens a file and returns how often it was opened to be written to, this time included.
func openMade(path string, readOnly bool) (db *bbolt.DB, opened uint64, err error) {
	db, err = openFile(path, readOnly)
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return nil, 0, sessions.ErrInUse
	}
	if err != nil {
		return nil, 0, err
	}
	if readOnly {
		err = db.View(checkMade)
	} else if opened, err = prepare(db); err == nil {
		err = errors.Join(removeDraft(path), syncDir(filepath.Dir(path)))
	}
	if err != nil {
		return nil, 0, errors.Join(err, db.Close())
	}
	return db, opened, nil
}

// markClean says that the file was closed properly, so that the next Open need not read all of it.
func markClean(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Put(cleanKey, []byte{1}) }

// prepare checks the format, makes what is missing, and returns how often the file was opened, this time included.
func prepare(db *bbolt.DB) (opened uint64, err error) {
	if err := db.View(checkFormat); err != nil {
		return 0, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		if err := beginLedger(tx); err != nil {
			return fmt.Errorf("begin the ledger: %w", err)
		}
		for _, name := range allBuckets {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return fmt.Errorf("make bucket %s: %w", name, err)
			}
		}
		meta := tx.Bucket(metaBucket)
		if b := meta.Get(openedKey); b != nil {
			opened = binary.BigEndian.Uint64(b)
		}
		opened++
		return errors.Join(
			meta.Delete(cleanKey), meta.Put(formatKey, number(format)), meta.Put(openedKey, number(opened)),
		)
	})
	return opened, err
}

// mapped is how much of the address space a file takes at least. Within it the file grows without being mapped anew,
// which would have to wait for backups and compactions to end. It takes no memory.
const mapped = 4 << 30

// grown is by how much a file grows at a time.
const grown = 1 << 20

// openFile opens a file of bbolt's.
func openFile(path string, readOnly bool) (*bbolt.DB, error) {
	o := &bbolt.Options{
		Timeout:      lockTimeout,
		FreelistType: bbolt.FreelistMapType, // the other one is slow in big files
		ReadOnly:     readOnly,
	}
	if strconv.IntSize == 64 && runtime.GOOS != "windows" { // there the file would get that big
		o.InitialMmapSize = mapped
	}
	db, err := bbolt.Open(path, 0o600, o)
	if err == nil {
		db.AllocSize = grown
	}
	return db, err
}

// syncDir makes a new file's name durable. Windows does that by itself and cannot be asked to.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// checkMade fails unless the file has been prepared.
func checkMade(tx *bbolt.Tx) error {
	if tx.Bucket(metaBucket) == nil {
		return fmt.Errorf("%w: it has none yet", sessions.ErrFormat)
	}
	return checkFormat(tx)
}

func checkFormat(tx *bbolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		if name, _ := tx.Cursor().First(); name != nil {
			return fmt.Errorf("%w: another program wrote it. Move it away, or name another data_dir", sessions.ErrFormat)
		}
		return nil // a new file
	}
	b := meta.Get(formatKey)
	if len(b) != 8 || binary.BigEndian.Uint64(b) != format {
		return formatError(b)
	}
	return nil
}

// formatError says what to do about a format that is not the present one.
func formatError(stored []byte) error {
	switch {
	case len(stored) != 8:
		return fmt.Errorf("%w: its number cannot be read. Restore a backup", sessions.ErrFormat)
	case binary.BigEndian.Uint64(stored) > format:
		return fmt.Errorf("%w: a newer version of Talaria wrote it (format %d, this one knows %d). Install that version again, or restore a backup from before",
			sessions.ErrFormat, binary.BigEndian.Uint64(stored), format)
	default:
		return fmt.Errorf("%w: an older version of Talaria wrote it (format %d, this one knows %d), and this one cannot convert it. Go on with that version, or move the file away to begin anew",
			sessions.ErrFormat, binary.BigEndian.Uint64(stored), format)
	}
}
