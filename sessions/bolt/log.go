package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/sessions"
)

// appendOp adds a record to a log.
type appendOp struct {
	sessions.Append
	data     []byte // the record
	rows     []row
	revision sessions.Revision
	base     sessions.Revision // the last one, this record included
}

func newAppend(c sessions.Append) (*appendOp, error) {
	data, err := c.Record.Encode()
	if err != nil {
		return nil, err
	}
	o := &appendOp{Append: c, data: data}
	for _, r := range c.Record.Outbox {
		o.rows = append(o.rows, row{Row: r, At: c.Record.At})
	}
	return o, nil
}

func (o *appendOp) check(s *Store, tx *bbolt.Tx) error {
	last, base := head(tx, o.Lease.Key)
	if s.leases[o.Lease.Key] != o.Lease || last != o.After {
		return sessions.ErrStale
	}
	for _, r := range o.rows {
		if tx.Bucket(rowsBucket).Get([]byte(r.ID)) != nil {
			return fmt.Errorf("row %s exists", r.ID)
		}
	}
	o.revision, o.base = last+1, base
	if o.Record.Base() {
		o.base = o.revision
	}
	return nil
}

func (o *appendOp) put(_ *Store, tx *bbolt.Tx) (bool, error) {
	key := o.Lease.Key
	err := errors.Join(
		tx.Bucket(recordsBucket).Put(recordKey(key, o.revision), o.data),
		tx.Bucket(headsBucket).Put([]byte(key), append(number(uint64(o.revision)), number(uint64(o.base))...)),
	)
	l := LedgerLine{At: o.Record.At, Key: key, Revision: o.revision, Digest: hashOf(o.data)}
	err = errors.Join(err, l.enter(tx))
	turn, claimed := o.Record.Claims()
	for _, id := range claimed {
		err = errors.Join(err, claim(tx, id, turn))
	}
	for _, id := range o.Record.Consumed {
		err = errors.Join(err, consume(tx, id, o.Record.At))
	}
	for _, r := range o.rows {
		err = errors.Join(err, r.enqueue(tx))
	}
	return true, err
}

// head returns the last revision of a key and that of its last base, zero if there is none.
func head(tx *bbolt.Tx, key sessions.Key) (last, base sessions.Revision) {
	b := tx.Bucket(headsBucket).Get([]byte(key))
	if b == nil {
		return 0, 0
	}
	return sessions.Revision(binary.BigEndian.Uint64(b)), sessions.Revision(binary.BigEndian.Uint64(b[8:]))
}

// prefix begins all index keys of a session key. No session key contains a zero byte.
func prefix(key sessions.Key) []byte { return append([]byte(key), 0) }

func recordKey(key sessions.Key, rev sessions.Revision) []byte {
	return append(prefix(key), number(uint64(rev))...)
}
