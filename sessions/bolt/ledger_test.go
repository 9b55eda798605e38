package bolt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/sessions"
)

// audited makes a file with two conversations, one erased and one trimmed, and returns its path and the ledger's head.
func audited(t *testing.T) (path, head string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "talaria.db")
	s := openTest(t, path)
	leases := map[sessions.Key]sessions.Conversation{}
	for _, key := range []sessions.Key{"a", "b", "gone", "old"} {
		c, err := s.Acquire(t.Context(), key, "o")
		if err != nil {
			t.Fatal(err)
		}
		leases[key] = c
	}
	for n := range sessions.Revision(6) {
		for _, key := range []sessions.Key{"a", "b", "gone", "old"} {
			r := sessions.Record{At: time.Now(), Entries: []sessions.Entry{sessions.Reset{By: fmt.Sprint(n), At: time.Now()}}}
			if _, err := s.Commit(t.Context(), sessions.Append{Lease: leases[key].Lease, After: n, Record: r}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := s.Commit(t.Context(), sessions.Erase{Lease: leases["gone"].Lease, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Trim(t.Context(), "old", 4); n != 3 || err != nil {
		t.Fatalf("trimmed %d, %v", n, err)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, err := s.Audit(t.Context(), "")
	if err != nil || len(a.Findings) > 0 || a.Lines != 26 || len(a.Removals) != 2 {
		t.Fatalf("a file that nobody has touched: %+v, %v", a, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path, a.Head
}

// TestLedgerFindsTampering changes the file as somebody would who knows bbolt.
func TestLedgerFindsTampering(t *testing.T) {
	rechain := func(tx *bbolt.Tx) error { // makes the ledger fit together again
		b, prev := tx.Bucket(ledgerBucket), ""
		return b.ForEach(func(k, v []byte) error {
			var l LedgerLine
			if err := json.Unmarshal(v, &l); err != nil {
				return err
			}
			l.Prev = prev
			data, err := json.Marshal(l)
			prev = hashOf(data)
			return errors.Join(err, b.Put(k, data))
		})
	}
	change := func(bucket, key []byte, old, fresh string) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			b := tx.Bucket(bucket)
			data := b.Get(key)
			if !bytes.Contains(data, []byte(old)) {
				return fmt.Errorf("%s has no %q", data, old)
			}
			return b.Put(key, bytes.ReplaceAll(data, []byte(old), []byte(fresh)))
		}
	}
	for name, c := range map[string]struct {
		do   func(tx *bbolt.Tx) error
		want string
	}{
		"a record is edited":  {change(recordsBucket, recordKey("a", 3), `"by":"2"`, `"by":"9"`), "record 3 of a was changed"},
		"a record is removed": {func(tx *bbolt.Tx) error { return tx.Bucket(recordsBucket).Delete(recordKey("a", 3)) }, "record 3 of a is missing"},
		"a record is added": {func(tx *bbolt.Tx) error {
			return tx.Bucket(recordsBucket).Put(recordKey("a", 7), []byte(`{"v":1}`))
		}, "record 7 of a was not written"},
		"two records change places": {func(tx *bbolt.Tx) error {
			b := tx.Bucket(recordsBucket)
			x, y := bytes.Clone(b.Get(recordKey("a", 2))), bytes.Clone(b.Get(recordKey("a", 3)))
			return errors.Join(b.Put(recordKey("a", 2), y), b.Put(recordKey("a", 3), x))
		}, "record 2 of a was changed"},
		"a record moves to another conversation": {func(tx *bbolt.Tx) error {
			b := tx.Bucket(recordsBucket)
			return b.Put(recordKey("b", 3), bytes.Clone(b.Get(recordKey("a", 3))))
		}, "record 3 of b was changed"},
		"the end of a log is cut": {func(tx *bbolt.Tx) error {
			return errors.Join(
				tx.Bucket(recordsBucket).Delete(recordKey("a", 6)),
				tx.Bucket(headsBucket).Put([]byte("a"), append(number(5), number(5)...)),
			)
		}, "record 6 of a is missing"},
		"only the head of a log goes back": {func(tx *bbolt.Tx) error {
			return tx.Bucket(headsBucket).Put([]byte("a"), append(number(5), number(5)...))
		}, "the log of a ends at 5 and not at 6"},
		"a conversation is removed": {func(tx *bbolt.Tx) error {
			var err error
			for r := range sessions.Revision(6) {
				err = errors.Join(err, tx.Bucket(recordsBucket).Delete(recordKey("b", r+1)))
			}
			return errors.Join(err, tx.Bucket(headsBucket).Delete([]byte("b")))
		}, "record 1 of b is missing"},
		"an erased one comes back": {func(tx *bbolt.Tx) error {
			b := tx.Bucket(recordsBucket)
			return b.Put(recordKey("gone", 1), bytes.Clone(b.Get(recordKey("a", 1))))
		}, "record 1 of gone was not written by talaria, or was removed before"},
		"a line is edited":          {change(ledgerBucket, number(9), `"key":"a"`, `"key":"c"`), "line 10 of the ledger (b) does not follow"},
		"a line is removed":         {func(tx *bbolt.Tx) error { return tx.Bucket(ledgerBucket).Delete(number(9)) }, "line 9 of the ledger is missing"},
		"the last line is removed":  {func(tx *bbolt.Tx) error { return tx.Bucket(ledgerBucket).Delete(number(26)) }, "once had 26"},
		"a tombstone is taken away": {func(tx *bbolt.Tx) error { return tx.Bucket(ledgerBucket).Delete(number(25)) }, "record 1 of gone is missing"},
		"the ledger is made to fit": {func(tx *bbolt.Tx) error {
			return errors.Join(change(ledgerBucket, number(9), `"at":"2`, `"at":"3`)(tx), rechain(tx))
		}, "does not have the line"},
		"a record and its line, too": {func(tx *bbolt.Tx) error {
			if err := change(recordsBucket, recordKey("a", 3), `"by":"2"`, `"by":"9"`)(tx); err != nil {
				return err
			}
			was := hashOf(bytes.ReplaceAll(tx.Bucket(recordsBucket).Get(recordKey("a", 3)), []byte(`"by":"9"`), []byte(`"by":"2"`)))
			fresh := hashOf(tx.Bucket(recordsBucket).Get(recordKey("a", 3)))
			return errors.Join(change(ledgerBucket, number(9), was, fresh)(tx), rechain(tx))
		}, "does not have the line"},
	} {
		t.Run(name, func(t *testing.T) {
			path, known := audited(t)
			db, err := openFile(path, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Update(c.do), db.Close()); err != nil {
				t.Fatal(err)
			}
			s, err := OpenToRead(path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			a, err := s.Audit(t.Context(), known)
			if err != nil || !strings.Contains(strings.Join(a.Findings, "\n"), c.want) {
				t.Errorf("it finds %q, %v; want %q", a.Findings, err, c.want)
			}
		})
	}
}

// TestLedgerOfAnOlderFile: what was there before there was a ledger is taken as it is.
func TestLedgerOfAnOlderFile(t *testing.T) {
	path, _ := audited(t)
	db, err := openFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(func(tx *bbolt.Tx) error { return tx.DeleteBucket(ledgerBucket) }), db.Close()); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path)
	a, err := s.Audit(t.Context(), "")
	if err != nil || len(a.Findings) > 0 || a.Lines != 15 {
		t.Errorf("%+v, %v", a, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
