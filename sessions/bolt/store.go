// Package bolt is the store engine for one machine: one bbolt file that one process has open at a time.
//
// # Goroutines and order
//
// One writer goroutine, started by Open and waited for by Close, owns the file's write transactions and all leases. It
// takes every request that is queued, checks each one's precondition and puts it, all in one transaction with one sync,
// then answers them all; what arrives meanwhile is the next batch. So nothing waits for company, and a busy store syncs
// less often a commit. A request sees the requests before it in its batch. One that fails its precondition has put
// nothing and fails alone; if the transaction fails (the disk is full), all of its requests fail with the cause and the
// file is as before. Reading happens in the caller's goroutine, from snapshots that are never held while user code runs.
//
// A compaction and a backup run in the goroutine of whoever calls them, one at a time, while the writer goes on.
//
// The engine never waits for anything but the file and its own goroutines, so it can run in a testing/synctest bubble.
//
// # Layout
//
// Integers are big-endian, so that bbolt's order is theirs. A time is 12 bytes: seconds and nanoseconds. A sequence is
// 8 bytes, given when the item or the row came. Everything that is read often has an index of just what is wanted, so
// no cost grows with the history:
//
//	meta         "format" → the format number; "opened" → how often the file was opened
//	records      key 0x00 revision → the record, encoded by package sessions
//	heads        key → last revision, revision of the last base (0 if there is none)
//	items        sequence → the item, as JSON: the pending ones in the order of acceptance
//	waiting      key 0x00 sequence → the turn that claimed the item: the pending ones of each key
//	seen         item id → sequence, key if it is pending; nothing if it is consumed
//	consumed     time, item id → nothing: what to forget first
//	rows         row id → the row with the state of its parts, as JSON
//	undelivered  sequence → row id: the rows that are not done, which is also the order within each lane
//	delivered    time, row id → nothing: what to forget first
//	values       name → the value
//
// Leases are kept in memory: the file's lock makes this process the only one. Their epochs begin with the number in
// "opened", so that a lease from before a restart matches none of now.
package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/talaria-agent/talaria/sessions"
)

// format is the number of the layout above. A file with a higher one is refused.
const format = 1

// lockTimeout is how long Open waits for another process to let go of the file. A process that is about to end gets
// this time; with none at all, bbolt would wait for ever.
const lockTimeout = time.Second

var (
	metaBucket        = []byte("meta")
	recordsBucket     = []byte("records")
	headsBucket       = []byte("heads")
	itemsBucket       = []byte("items")
	waitingBucket     = []byte("waiting")
	seenBucket        = []byte("seen")
	consumedBucket    = []byte("consumed")
	rowsBucket        = []byte("rows")
	undeliveredBucket = []byte("undelivered")
	deliveredBucket   = []byte("delivered")
	valuesBucket      = []byte("values")

	formatKey = []byte("format")
	openedKey = []byte("opened")
)

// Store implements sessions.Store in a file.
type Store struct {
	path     string
	swap     sync.RWMutex // held by readers, and by the writer while it replaces db
	db       *bbolt.DB
	requests chan request
	between  chan func()   // what the writer does between two batches
	copying  chan struct{} // holds one while a backup or a compaction runs
	quit     chan struct{} // closed by Close: no more requests
	done     chan struct{} // closed by the writer when it has ended
	close    func() error

	failed atomic.Pointer[error]

	// These belong to the writer.
	leases  map[sessions.Key]sessions.Lease
	epoch   uint64
	journal *journal // what a running compaction has to do again in its copy; nil = none runs
	wedged  bool     // bbolt has panicked within a transaction and would not let go of the file
}

var _ sessions.Store = (*Store)(nil)

// Open opens the store in the file at path, and makes the file (mode 0600) and its directory (mode 0700) if they are
// not there. It fails with sessions.ErrInUse if another process has the file open, and with sessions.ErrFormat if a
// newer version has written it.
func Open(path string) (*Store, error) { return launch(path, false) }

// OpenToRead opens the store in a file that is there (otherwise the error is fs.ErrNotExist) for reading alone: it
// changes nothing, and every commit fails. Several processes may read at once, but none while another has it open by
// Open.
func OpenToRead(path string) (*Store, error) { return launch(path, true) }

func launch(path string, readOnly bool) (*Store, error) {
	s, err := open(path, readOnly)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	go s.write()
	return s, nil
}

// open does all of launch but starting the writer.
func open(path string, readOnly bool) (*Store, error) {
	if !readOnly {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
	}
	db, err := openFile(path, readOnly)
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return nil, sessions.ErrInUse
	}
	if err != nil {
		return nil, err
	}
	var opened uint64
	if readOnly {
		err = db.View(checkMade)
	} else if opened, err = prepare(db); err == nil {
		err = errors.Join(removeDraft(path), syncDir(filepath.Dir(path)))
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s := &Store{
		path:     path,
		db:       db,
		requests: make(chan request),
		between:  make(chan func()),
		copying:  make(chan struct{}, 1),
		quit:     make(chan struct{}),
		done:     make(chan struct{}),
		leases:   make(map[sessions.Key]sessions.Lease),
		epoch:    opened << 32,
	}
	s.close = sync.OnceValue(func() error {
		close(s.quit)
		<-s.done
		s.copying <- struct{}{} // it has seen quit, or will
		if s.wedged {
			return s.broken()
		}
		return s.db.Close() // waits for readers
	})
	return s, nil
}

// prepare checks the format, makes what is missing, and returns how often the file was opened, this time included.
func prepare(db *bbolt.DB) (opened uint64, err error) {
	if err := db.View(checkFormat); err != nil {
		return 0, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{
			metaBucket, recordsBucket, headsBucket, itemsBucket, waitingBucket, seenBucket, consumedBucket,
			rowsBucket, undeliveredBucket, deliveredBucket, valuesBucket,
		} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return fmt.Errorf("make bucket %s: %w", name, err)
			}
		}
		meta := tx.Bucket(metaBucket)
		if b := meta.Get(openedKey); b != nil {
			opened = binary.BigEndian.Uint64(b)
		}
		opened++
		return errors.Join(meta.Put(formatKey, number(format)), meta.Put(openedKey, number(opened)))
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
			return fmt.Errorf("%w: it is another program's", sessions.ErrFormat)
		}
		return nil // a new file
	}
	b := meta.Get(formatKey)
	if len(b) != 8 || binary.BigEndian.Uint64(b) != format {
		return fmt.Errorf("%w: it is %x, known is %d", sessions.ErrFormat, b, format)
	}
	return nil
}

// Close implements sessions.Store. To close twice is harmless.
func (s *Store) Close() error { return s.close() }

// Commit implements sessions.Store.
func (s *Store) Commit(ctx context.Context, c sessions.Commit) (sessions.Revision, error) {
	if err := sessions.Validate(c); err != nil {
		return 0, err
	}
	switch c := c.(type) {
	case sessions.Accept:
		o, err := newAccept(c.Item)
		if err != nil {
			return 0, fmt.Errorf("accept %s: %w", c.Item.ID, err)
		}
		if err := s.do(ctx, o); err != nil {
			return 0, fmt.Errorf("accept %s: %w", c.Item.ID, err)
		}
		return 0, nil
	case sessions.Append:
		o, err := newAppend(c)
		if err != nil {
			return 0, fmt.Errorf("append to %s: %w", c.Lease.Key, err)
		}
		if err := s.do(ctx, o); err != nil {
			return 0, fmt.Errorf("append to %s after %d: %w", c.Lease.Key, c.After, err)
		}
		return o.revision, nil
	case sessions.Mark:
		if err := s.do(ctx, &mark{Mark: c}); err != nil {
			return 0, fmt.Errorf("mark part %d of row %s from %s: %w", c.Part, c.Row, c.From, err)
		}
		return 0, nil
	case sessions.Set:
		if err := s.do(ctx, &set{Set: c}); err != nil {
			return 0, fmt.Errorf("set %s: %w", c.Name, err)
		}
		return 0, nil
	case sessions.Erase:
		if err := s.do(ctx, &erase{Erase: c}); err != nil {
			return 0, fmt.Errorf("erase %s: %w", c.Lease.Key, err)
		}
		return 0, nil
	}
	panic("unreachable: Validate knows all commits")
}

// Acquire implements sessions.Store.
func (s *Store) Acquire(ctx context.Context, key sessions.Key, owner string) (sessions.Conversation, error) {
	if err := key.Validate(); err != nil {
		return sessions.Conversation{}, fmt.Errorf("acquire: %w", err)
	}
	// The writer gives the lease after all appends of older ones, so what is read afterwards is complete.
	o := &acquire{lease: sessions.Lease{Key: key, Owner: owner}}
	if err := s.do(ctx, o); err != nil {
		return sessions.Conversation{}, fmt.Errorf("acquire %s: %w", key, err)
	}
	c, err := s.conversation(key)
	if err != nil {
		return sessions.Conversation{}, fmt.Errorf("acquire %s: %w", key, err)
	}
	c.Lease = o.lease
	return c, nil
}

// Release implements sessions.Store.
func (s *Store) Release(ctx context.Context, lease sessions.Lease) error {
	if err := s.do(ctx, &release{lease: lease}); err != nil {
		return fmt.Errorf("release %s: %w", lease.Key, err)
	}
	return nil
}

// Prune implements sessions.Store. It forgets in steps, so that commits need not wait for all of it, and compacts the
// file when more than half of it is empty.
func (s *Store) Prune(ctx context.Context, before time.Time) (int, error) {
	for n := 0; ; {
		o := &prune{before: before}
		if err := s.do(ctx, o); err != nil {
			return n, fmt.Errorf("prune: %w", err)
		}
		n += o.forgotten
		if o.forgotten < pruneStep {
			return n, s.compactIfWorth(ctx)
		}
	}
}
