package bolt

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/sessions"
)

// accept puts an item into the inbox.
type accept struct {
	id   sessions.ItemID
	key  sessions.Key
	data []byte
}

func newAccept(i sessions.Item) (*accept, error) {
	data, err := json.Marshal(i)
	return &accept{id: i.ID, key: i.Key, data: data}, err
}

func (o *accept) check(_ *Store, tx *bbolt.Tx) error {
	if tx.Bucket(seenBucket).Get([]byte(o.id)) != nil {
		return sessions.ErrSeen
	}
	return nil
}

func (o *accept) put(_ *Store, tx *bbolt.Tx) (bool, error) {
	items := tx.Bucket(itemsBucket)
	n, err := items.NextSequence()
	if err != nil {
		return false, err
	}
	p := place{seq: n, key: o.key}
	return true, errors.Join(
		items.Put(number(n), o.data),
		tx.Bucket(waitingBucket).Put(p.index(), []byte{}),
		tx.Bucket(seenBucket).Put([]byte(o.id), p.encode()),
	)
}

// place says where a pending item is.
type place struct {
	seq uint64
	key sessions.Key
}

// index is the item's key in the waiting bucket.
func (p place) index() []byte { return append(prefix(p.key), number(p.seq)...) }

// encode is the item's value in the seen bucket.
func (p place) encode() []byte { return append(number(p.seq), p.key...) }

// findPending returns the place of an item, false if it is not pending.
func findPending(tx *bbolt.Tx, id sessions.ItemID) (place, bool) {
	b := tx.Bucket(seenBucket).Get([]byte(id))
	if len(b) < 8 {
		return place{}, false
	}
	return place{seq: binary.BigEndian.Uint64(b), key: sessions.Key(b[8:])}, true
}

// claim says that a turn has taken the item, if it is pending.
func claim(tx *bbolt.Tx, id sessions.ItemID, turn string) error {
	p, ok := findPending(tx, id)
	if !ok {
		return nil
	}
	return tx.Bucket(waitingBucket).Put(p.index(), []byte(turn))
}

// consume takes the item out of the inbox, if it is pending, and remembers its id. The empty values are not nil: what
// is put as nil, bbolt does not find again in the same transaction.
func consume(tx *bbolt.Tx, id sessions.ItemID, at time.Time) error {
	p, ok := findPending(tx, id)
	if !ok {
		return nil
	}
	return errors.Join(
		tx.Bucket(itemsBucket).Delete(number(p.seq)),
		tx.Bucket(waitingBucket).Delete(p.index()),
		tx.Bucket(seenBucket).Put([]byte(id), []byte{}),
		tx.Bucket(consumedBucket).Put(append(moment(at), id...), []byte{}),
	)
}

// pruneStep is how many ids one transaction forgets at most, so that commits in between wait for little.
const pruneStep = 1000

// prune forgets consumed items and done rows.
type prune struct {
	before    time.Time
	forgotten int
}

func (o *prune) check(*Store, *bbolt.Tx) error { return nil }

func (o *prune) put(_ *Store, tx *bbolt.Tx) (bool, error) {
	for _, f := range []struct{ order, named []byte }{
		{consumedBucket, seenBucket}, {deliveredBucket, rowsBucket},
	} {
		order, named := tx.Bucket(f.order), tx.Bucket(f.named)
		for o.forgotten < pruneStep {
			k, _ := order.Cursor().First()
			if k == nil || bytes.Compare(k, moment(o.before)) >= 0 {
				break
			}
			if err := errors.Join(named.Delete(k[momentSize:]), order.Delete(k)); err != nil {
				return false, err
			}
			o.forgotten++
		}
	}
	return o.forgotten > 0, nil
}
