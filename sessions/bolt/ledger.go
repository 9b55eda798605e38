package bolt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/sessions"
)

// The ledger makes it visible that somebody has changed the file behind the program's back. It has one line for each
// change of a log, in the order of the commits and written in the same transaction: which record was added, with its
// digest, or what was removed. Each line holds the hash of the one before. So a record that was changed, added, removed
// or moved does not fit its line, and a line that was does not fit the next one. Whoever rewrites all of it leaves one
// trace: the hash of the last line that was noted somewhere else before is not in it any more.

// LedgerLine is one line of the ledger.
type LedgerLine struct {
	Prev     string            `json:"prev,omitempty"` // hash of the line before; empty = this is the first
	At       time.Time         `json:"at"`
	Key      sessions.Key      `json:"key"`
	Revision sessions.Revision `json:"revision,omitempty"` // of the record, or, of a removal, the first one that is left
	Digest   string            `json:"digest,omitempty"`   // of the record
	Removed  Removal           `json:"removed,omitempty"`  // nothing = a record was added
	Records  int               `json:"records,omitempty"`  // that were removed
}

// Removal says what was removed, on purpose.
type Removal string

const (
	Erased  Removal = "erased"  // the whole conversation
	Trimmed Removal = "trimmed" // its beginning
)

// Audit is what a look at all of the ledger gives.
type Audit struct {
	Lines    int
	Head     string // hash of the last line
	Findings []string
	Removals []LedgerLine
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// enter adds a line.
func (l LedgerLine) enter(tx *bbolt.Tx) error {
	b := tx.Bucket(ledgerBucket)
	if _, last := b.Cursor().Last(); last != nil {
		l.Prev = hashOf(last)
	}
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	n, err := b.NextSequence()
	if err != nil {
		return err
	}
	return b.Put(number(n), data)
}

// beginLedger makes the ledger of a file that has none: of what is there, as it is now.
func beginLedger(tx *bbolt.Tx) error {
	if tx.Bucket(ledgerBucket) != nil {
		return nil
	}
	if _, err := tx.CreateBucket(ledgerBucket); err != nil || tx.Bucket(recordsBucket) == nil {
		return err
	}
	return tx.Bucket(recordsBucket).ForEach(func(k, v []byte) error {
		key, ok := logOf(string(k))
		if !ok {
			return nil
		}
		return LedgerLine{At: time.Now(), Key: key, Revision: revisionOf(k), Digest: hashOf(v)}.enter(tx)
	})
}

// Audit compares the logs with the ledger. A hash that was the ledger's last line once must be in it; an empty one is
// not looked for.
func (s *Store) Audit(ctx context.Context, known string) (a Audit, err error) {
	if err := ctx.Err(); err != nil {
		return a, err
	}
	err = s.view(func(tx *bbolt.Tx) error {
		a, err = audit(tx, known)
		return err
	})
	if err != nil {
		return a, fmt.Errorf("audit: %w", err)
	}
	return a, nil
}

func audit(tx *bbolt.Tx, known string) (a Audit, err error) {
	b := tx.Bucket(ledgerBucket)
	if b == nil {
		return a, errors.New("the database has no ledger yet; it gets one when talaria runs the next time")
	}
	found := func(format string, args ...any) { a.Findings = append(a.Findings, fmt.Sprintf(format, args...)) }
	ends := map[sessions.Key]*logEnds{}
	was := known == ""
	err = b.ForEach(func(k, v []byte) error {
		a.Lines++
		var l LedgerLine
		if err := json.Unmarshal(v, &l); err != nil || !bytes.Equal(k, number(uint64(a.Lines))) {
			found("line %d of the ledger is missing or cannot be read", a.Lines)
		}
		if l.Prev != a.Head {
			found("line %d of the ledger (%s) does not follow the line before", a.Lines, l.Key)
		}
		a.Head = hashOf(v)
		was = was || a.Head == known
		if l.Removed != "" {
			a.Removals = append(a.Removals, l)
		}
		e := ends[l.Key]
		if e == nil {
			e = &logEnds{digests: map[sessions.Revision]string{}}
			ends[l.Key] = e
		}
		e.follow(l)
		return nil
	})
	if err != nil {
		return a, err
	}
	if n := b.Sequence(); n != uint64(a.Lines) {
		found("the ledger has %d lines and once had %d", a.Lines, n)
	}
	if !was {
		found("the ledger does not have the line %s", known)
	}
	return a, compareLogs(tx, ends, found)
}

// logEnds is what the ledger says is left of a log.
type logEnds struct {
	digests map[sessions.Revision]string
	last    sessions.Revision
}

func (e *logEnds) follow(l LedgerLine) {
	switch l.Removed {
	case Erased:
		*e = logEnds{digests: map[sessions.Revision]string{}}
	case Trimmed:
		for r := range e.digests {
			if r < l.Revision {
				delete(e.digests, r)
			}
		}
	default:
		e.digests[l.Revision], e.last = l.Digest, l.Revision
	}
}

// compareLogs compares the records with what the ledger says of them.
func compareLogs(tx *bbolt.Tx, ends map[sessions.Key]*logEnds, found func(string, ...any)) error {
	err := tx.Bucket(recordsBucket).ForEach(func(k, v []byte) error {
		key, ok := logOf(string(k))
		if !ok {
			found("there is a record with the name %q", k)
			return nil
		}
		r, e := revisionOf(k), ends[key]
		if e == nil || e.digests[r] == "" {
			found("record %d of %s was not written by talaria, or was removed before", r, key)
			return nil
		}
		if e.digests[r] != hashOf(v) {
			found("record %d of %s was changed", r, key)
		}
		delete(e.digests, r)
		return nil
	})
	for key, e := range ends {
		for r := range e.digests {
			found("record %d of %s is missing", r, key)
		}
		if last, _ := head(tx, key); last != e.last {
			found("the log of %s ends at %d and not at %d", key, last, e.last)
		}
	}
	return err
}
