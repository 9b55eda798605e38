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
//	meta         "format" → the format number; "opened" → how often the file was opened; "clean" → it was closed properly
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
//	ledger       number, from 1 → what was added to or removed from a log, as JSON (ledger.go)
//
// A file that was not closed properly, and a small one always, is read whole before it is opened, page by page and
// without trust in what it says (image.go). Panics of bbolt's, and its reading outside of the file, become
// sessions.ErrCorrupt, after which the store takes nothing any more (trouble.go).
//
// Leases are kept in memory: the file's lock makes this process the only one. Their epochs begin with the number in
// "opened", so that a lease from before a restart matches none of now.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

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
	ledgerBucket      = []byte("ledger")

	formatKey = []byte("format")
	openedKey = []byte("opened")
	cleanKey  = []byte("clean")
)

// allBuckets are those that a file has, jsonBuckets those of them whose values are JSON.
var (
	allBuckets = [][]byte{
		metaBucket, recordsBucket, headsBucket, itemsBucket, waitingBucket, seenBucket, consumedBucket,
		rowsBucket, undeliveredBucket, deliveredBucket, valuesBucket, ledgerBucket,
	}
	jsonBuckets = map[string]bool{string(recordsBucket): true, string(itemsBucket): true, string(rowsBucket): true, string(ledgerBucket): true}
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
	full   atomic.Bool // there is no room for new work; only the writer changes it

	// These belong to the writer.
	leases  map[sessions.Key]sessions.Lease
	epoch   uint64
	journal *journal // what a running compaction has to do again in its copy; nil = none runs
	ballast int64    // bytes of the file that is given up when the disk is full; 0 = there is none
	commit  func(*bbolt.Tx) error
	probe   <-chan time.Time // when to look whether there is room again
	wedged  bool             // bbolt has panicked within a transaction and would not let go of the file
}

var _ sessions.Store = (*Store)(nil)

// Open opens the store in the file at path, and makes the file (mode 0600) and its directory (mode 0700) if they are
// not there. It fails with sessions.ErrInUse if another process has the file open, and with sessions.ErrFormat if a
// newer version has written it. A file that was not closed properly is read whole; with sessions.ErrCorrupt it is
// damaged, and Repair saves what can be saved.
func Open(path string) (*Store, error) { return launch(path, false) }

// OpenToRead opens the store in a file that is there (otherwise the error is fs.ErrNotExist) for reading alone: it
// changes nothing, and every commit fails. Several processes may read at once, but none while another has it open by
// Open.
func OpenToRead(path string) (*Store, error) { return launch(path, true) }

func launch(path string, readOnly bool) (*Store, error) {
	s, err := open(path, readOnly)
	if noRoom(err) {
		err = fmt.Errorf("%w: %w", sessions.ErrFull, err)
	}
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
	if err := examine(path, false); err != nil {
		return nil, err
	}
	var db *bbolt.DB
	var opened uint64
	try := func() (err error) {
		db, opened, err = openMade(path, readOnly)
		return err
	}
	err := guarded(try)
	if noRoom(err) && os.Remove(ballastFile(path)) == nil {
		err = guarded(try)
	}
	if err != nil {
		return nil, err
	}
	s := &Store{
		path:     path,
		db:       db,
		requests: make(chan request),
		between:  make(chan func()),
		copying:  make(chan struct{}, 1),
		quit:     make(chan struct{}),
		done:     make(chan struct{}),
		commit:   (*bbolt.Tx).Commit,
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
		var err error
		if !readOnly {
			err = s.guard(func() error { return s.db.Update(markClean) })
		}
		if noRoom(err) {
			err = nil // the next Open reads all of the file
		}
		return errors.Join(err, s.db.Close()) // waits for readers
	})
	return s, nil
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
