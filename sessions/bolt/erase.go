package bolt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/sessions"
)

// erase removes a conversation. Every row that there is stands in a record that there is (see Trim), so the log leads to
// all of them.
type erase struct {
	sessions.Erase
	items   []sessions.PendingItem
	records []sessions.Record
}

func (o *erase) check(s *Store, tx *bbolt.Tx) (err error) {
	key := o.Lease.Key
	if s.leases[key] != o.Lease {
		return sessions.ErrStale
	}
	if _, o.items, err = readPage(tx, waitingBucket, prefix(key), prefix(key), endless, readWaiting); err != nil {
		return err
	}
	_, o.records, err = readPage(tx, recordsBucket, prefix(key), prefix(key), endless,
		func(tx *bbolt.Tx, k, v []byte) (sessions.Record, int, error) {
			r, n, err := readRecord(tx, k, v)
			if err != nil { // what cannot be read can still be removed
				r = sessions.Record{Revision: revisionOf(k)}
			}
			return r, n, nil
		})
	return err
}

func (o *erase) put(_ *Store, tx *bbolt.Tx) (bool, error) {
	for _, i := range o.items {
		if err := consume(tx, i.ID, o.At); err != nil {
			return false, err
		}
	}
	for _, r := range o.records {
		if err := removeRecord(tx, o.Lease.Key, r); err != nil {
			return false, err
		}
	}
	if last, _ := head(tx, o.Lease.Key); last == 0 {
		return len(o.items) > 0, nil
	}
	l := LedgerLine{At: o.At, Key: o.Lease.Key, Removed: Erased, Records: len(o.records)}
	return true, errors.Join(tx.Bucket(headsBucket).Delete([]byte(o.Lease.Key)), l.enter(tx))
}

// removeRecord removes a record and what there is of its rows.
func removeRecord(tx *bbolt.Tx, key sessions.Key, r sessions.Record) error {
	for _, o := range r.Outbox {
		row, err := loadRow(tx, []byte(o.ID))
		if errors.Is(err, sessions.ErrState) {
			continue
		}
		if err == nil {
			err = errors.Join(
				tx.Bucket(rowsBucket).Delete([]byte(o.ID)),
				tx.Bucket(undeliveredBucket).Delete(number(row.Seq)),
				tx.Bucket(deliveredBucket).Delete(append(moment(row.At), row.ID...)),
			)
		}
		if err != nil {
			return err
		}
	}
	return tx.Bucket(recordsBucket).Delete(recordKey(key, r.Revision))
}

// trim removes the beginning of a log.
type trim struct {
	key     sessions.Key
	before  sessions.Revision
	records []sessions.Record // to be removed
	more    bool              // there may be more to remove
	at      time.Time
}

// trimStep is how many records one transaction removes at most, so that commits in between wait for little.
const trimStep = 100

func (o *trim) check(_ *Store, tx *bbolt.Tx) error {
	_, base := head(tx, o.key)
	next, page, err := readPage(tx, recordsBucket, prefix(o.key), prefix(o.key), trimStep, readRecord)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(page, func(r sessions.Record) bool { return r.Revision >= min(o.before, base) || needed(tx, r) })
	if n < 0 {
		n, o.more = len(page), next != nil
	}
	o.records = page[:n]
	return nil
}

func (o *trim) put(_ *Store, tx *bbolt.Tx) (bool, error) {
	for _, r := range o.records {
		if err := removeRecord(tx, o.key, r); err != nil {
			return false, err
		}
	}
	if len(o.records) == 0 {
		return false, nil
	}
	left := o.records[len(o.records)-1].Revision + 1
	return true, LedgerLine{At: o.at, Key: o.key, Revision: left, Removed: Trimmed, Records: len(o.records)}.enter(tx)
}

// needed tells whether an item or a row of a record is still remembered.
func needed(tx *bbolt.Tx, r sessions.Record) bool {
	_, claimed := r.Claims()
	for _, id := range slices.Concat(claimed, r.Consumed) {
		if tx.Bucket(seenBucket).Get([]byte(id)) != nil {
			return true
		}
	}
	return slices.ContainsFunc(r.Outbox, func(o sessions.Row) bool { return tx.Bucket(rowsBucket).Get([]byte(o.ID)) != nil })
}

// Trim implements sessions.Store. It removes in steps, so that commits need not wait for all of it.
func (s *Store) Trim(ctx context.Context, key sessions.Key, before sessions.Revision) (int, error) {
	for n := 0; ; {
		o := &trim{key: key, before: before, at: time.Now()}
		if err := s.do(ctx, o); err != nil {
			return n, fmt.Errorf("trim %s: %w", key, err)
		}
		n += len(o.records)
		if !o.more {
			return n, nil
		}
	}
}
