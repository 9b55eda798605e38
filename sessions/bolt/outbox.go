package bolt

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/sessions"
)

// row is a row as it is stored, with its place in the order of commits and the time of its record.
type row struct {
	sessions.Row
	Seq uint64    `json:"seq"`
	At  time.Time `json:"at"`
}

func loadRow(tx *bbolt.Tx, id []byte) (r row, err error) {
	b := tx.Bucket(rowsBucket).Get(id)
	if b == nil {
		return r, sessions.ErrState
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("decode row %s: %w", id, err)
	}
	return r, nil
}

// enqueue stores a new row. Encoding cannot fail, because the record with the row in it was encoded before.
func (r row) enqueue(tx *bbolt.Tx) (err error) {
	if r.Seq, err = tx.Bucket(rowsBucket).NextSequence(); err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return r.put(tx, data)
}

// put stores the row and moves it to the index that it belongs to.
func (r row) put(tx *bbolt.Tx, data []byte) error {
	open, done := tx.Bucket(undeliveredBucket), tx.Bucket(deliveredBucket)
	seq, when := number(r.Seq), append(moment(r.At), r.ID...)
	if r.Done() {
		return errors.Join(tx.Bucket(rowsBucket).Put([]byte(r.ID), data), open.Delete(seq), done.Put(when, []byte{}))
	}
	return errors.Join(tx.Bucket(rowsBucket).Put([]byte(r.ID), data), open.Put(seq, []byte(r.ID)), done.Delete(when))
}

// mark moves a part of a row.
type mark struct {
	sessions.Mark
	row  row
	data []byte
}

func (o *mark) check(_ *Store, tx *bbolt.Tx) (err error) {
	if o.row, err = loadRow(tx, []byte(o.Row)); err != nil {
		return err
	}
	if o.Part < 0 || o.Part >= len(o.row.Parts) || o.row.Parts[o.Part].State != o.From {
		return sessions.ErrState
	}
	o.row.Parts[o.Part] = o.To
	o.data, err = json.Marshal(o.row)
	return err
}

func (o *mark) put(_ *Store, tx *bbolt.Tx) (bool, error) {
	return true, o.row.put(tx, o.data)
}

// number is a big-endian integer.
func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// momentSize is the length of what moment returns.
const momentSize = 12

// moment is a time, so that the order of bytes is that of time.
func moment(t time.Time) []byte {
	b := number(uint64(t.Unix()) ^ 1<<63) // negative seconds first
	return binary.BigEndian.AppendUint32(b, uint32(t.Nanosecond()))
}
