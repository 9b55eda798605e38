package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"github.com/talaria-agent/talaria/sessions"
)

// An iterator reads a page, ends the transaction, and only then yields: a transaction that is held for long keeps the
// pages that it sees from being used again, and the file grows. A page is full at either limit.
const (
	pageLength = 100
	pageBytes  = 1 << 20
)

// History implements sessions.Store.
func (s *Store) History(ctx context.Context, key sessions.Key, after sessions.Revision) iter.Seq2[sessions.Record, error] {
	justAfter := append(number(uint64(after)), 0)
	return scan(ctx, s, recordsBucket, prefix(key), justAfter, readRecord)
}

// Keys implements sessions.Store.
func (s *Store) Keys(ctx context.Context) iter.Seq2[sessions.Key, error] {
	return scan(ctx, s, headsBucket, nil, nil, func(_ *bbolt.Tx, k, _ []byte) (sessions.Key, int, error) {
		return sessions.Key(k), len(k), nil
	})
}

// Pending implements sessions.Store.
func (s *Store) Pending(ctx context.Context) iter.Seq2[sessions.PendingItem, error] {
	return scan(ctx, s, itemsBucket, nil, nil, readPending)
}

// Item implements sessions.Store.
func (s *Store) Item(ctx context.Context, id sessions.ItemID) (i sessions.PendingItem, err error) {
	if err = ctx.Err(); err == nil {
		err = s.view(func(tx *bbolt.Tx) (err error) {
			p, ok := findPending(tx, id)
			if !ok {
				return sessions.ErrState
			}
			i, _, err = readPending(tx, number(p.seq), tx.Bucket(itemsBucket).Get(number(p.seq)))
			return err
		})
	}
	if err != nil {
		return sessions.PendingItem{}, fmt.Errorf("item %s: %w", id, err)
	}
	return i, nil
}

// Undelivered implements sessions.Store.
func (s *Store) Undelivered(ctx context.Context) iter.Seq2[sessions.Row, error] {
	return scan(ctx, s, undeliveredBucket, nil, nil, func(tx *bbolt.Tx, _, id []byte) (sessions.Row, int, error) {
		r, err := loadRow(tx, id)
		return r.Row, len(r.Payload), err
	})
}

// Row implements sessions.Store.
func (s *Store) Row(ctx context.Context, id sessions.RowID) (sessions.Row, error) {
	var r row
	err := ctx.Err()
	if err == nil {
		err = s.view(func(tx *bbolt.Tx) (err error) {
			r, err = loadRow(tx, []byte(id))
			return err
		})
	}
	if err != nil {
		return sessions.Row{}, fmt.Errorf("row %s: %w", id, err)
	}
	return r.Row, nil
}

// conversation reads what a new owner gets, from one snapshot.
func (s *Store) conversation(key sessions.Key) (c sessions.Conversation, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		var base sessions.Revision
		c.Revision, base = head(tx, key)
		if _, c.Records, err = readPage(tx, recordsBucket, prefix(key), recordKey(key, base), endless, readRecord); err != nil {
			return err
		}
		_, c.Pending, err = readPage(tx, waitingBucket, prefix(key), prefix(key), endless, readWaiting)
		return err
	})
	return c, err
}

func readRecord(_ *bbolt.Tx, k, v []byte) (sessions.Record, int, error) {
	r, err := sessions.DecodeRecord(v, revisionOf(k))
	return r, len(v), err
}

// revisionOf is the revision in a key of the records.
func revisionOf(k []byte) sessions.Revision {
	return sessions.Revision(binary.BigEndian.Uint64(k[len(k)-8:]))
}

// readWaiting reads the item that an entry of the waiting bucket is about.
func readWaiting(tx *bbolt.Tx, k, _ []byte) (sessions.PendingItem, int, error) {
	seq := k[len(k)-8:]
	return readPending(tx, seq, tx.Bucket(itemsBucket).Get(seq))
}

func readPending(tx *bbolt.Tx, seq, v []byte) (p sessions.PendingItem, size int, err error) {
	if err := json.Unmarshal(v, &p.Item); err != nil {
		return p, 0, fmt.Errorf("decode item %x: %w", seq, err)
	}
	at := place{seq: binary.BigEndian.Uint64(seq), key: p.Key}
	p.Turn = string(tx.Bucket(waitingBucket).Get(at.index()))
	return p, len(v), nil
}

// reader makes a value of an index entry and tells how many bytes it is about. It keeps none of the slices.
type reader[T any] func(tx *bbolt.Tx, k, v []byte) (value T, size int, err error)

// scan yields what read makes of the entries that begin with prefix, from prefix + start on.
func scan[T any](ctx context.Context, s *Store, bucket, prefix, start []byte, read reader[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		next := slices.Concat(prefix, start)
		for more := true; more; more = next != nil {
			var page []T
			err := ctx.Err()
			if err == nil {
				err = s.view(func(tx *bbolt.Tx) (err error) {
					next, page, err = readPage(tx, bucket, prefix, next, pageLength, read)
					return err
				})
			}
			if err != nil {
				var zero T
				yield(zero, fmt.Errorf("read %s: %w", bucket, err))
				return
			}
			for _, v := range page {
				if !yield(v, nil) {
					return
				}
			}
		}
	}
}

// endless is the length of a page that has everything.
const endless = 0

// readPage reads entries that begin with prefix, from start on, and returns where the next page starts, nil if there
// is none.
func readPage[T any](tx *bbolt.Tx, bucket, prefix, start []byte, length int, read reader[T]) (next []byte, page []T, err error) {
	size := 0
	c := tx.Bucket(bucket).Cursor()
	for k, v := c.Seek(start); bytes.HasPrefix(k, prefix) && k != nil; k, v = c.Next() {
		if length != endless && (len(page) == length || size >= pageBytes) {
			return bytes.Clone(k), page, nil
		}
		value, n, err := read(tx, k, v)
		if err != nil {
			return nil, nil, err
		}
		page, size = append(page, value), size+n
	}
	return nil, page, nil
}

// view runs read on a snapshot. A compaction that is about to replace the file waits for it.
func (s *Store) view(read func(tx *bbolt.Tx) error) error {
	s.swap.RLock()
	defer s.swap.RUnlock()
	err := s.guard(func() error { return s.db.View(read) })
	if errors.Is(err, bbolterrors.ErrDatabaseNotOpen) {
		return sessions.ErrClosed
	}
	return err
}
