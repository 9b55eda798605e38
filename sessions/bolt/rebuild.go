package bolt

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/talaria-agent/talaria/sessions"
	"go.etcd.io/bbolt"
)

// write fills a new file. What can be derived is derived from records, items and rows, and not taken from what was found.
func (s *salvage) write(db *bbolt.DB) (r Repaired, err error) {
	err = db.Update(func(tx *bbolt.Tx) (err error) {
		for _, name := range allBuckets {
			b, made := tx.CreateBucket(name)
			if made != nil {
				return made
			}
			err = errors.Join(err, b.SetSequence(s.sequence[string(name)]))
		}
		meta := tx.Bucket(metaBucket)
		opened := uint64(time.Now().Unix())                                                    // leases of before match none of now
		err = errors.Join(err, putAll(tx.Bucket(ledgerBucket), s.found[string(ledgerBucket)])) // what is lost is missing there, too
		logs, consumed, logErr := s.putLogs(tx)
		r.Logs = logs
		return errors.Join(
			err, meta.Put(formatKey, number(format)), meta.Put(openedKey, number(opened)), logErr,
			s.putConsumed(tx), s.putItems(tx, consumed, &r.Items), s.putRows(tx, &r.Rows),
			putAll(tx.Bucket(valuesBucket), s.found[string(valuesBucket)]),
		)
	})
	r.Lost = s.lost
	return r, err
}

func putAll(b *bbolt.Bucket, all map[string][]byte) (err error) {
	for _, k := range slices.Sorted(maps.Keys(all)) {
		err = errors.Join(err, b.Put([]byte(k), all[k]))
	}
	return err
}

// putConsumed remembers the items that need not be accepted again.
func (s *salvage) putConsumed(tx *bbolt.Tx) (err error) {
	for id, at := range s.found[string(seenBucket)] {
		if len(at) == 0 {
			err = errors.Join(err, tx.Bucket(seenBucket).Put([]byte(id), []byte{}))
		}
	}
	return errors.Join(err, putAll(tx.Bucket(consumedBucket), s.found[string(consumedBucket)]))
}

// putItems stores the items that still wait: not those that a record or the list of ids says are consumed.
func (s *salvage) putItems(tx *bbolt.Tx, consumed map[sessions.ItemID]bool, n *int) (err error) {
	items := tx.Bucket(itemsBucket)
	for k, v := range s.found[string(itemsBucket)] {
		var i sessions.Item
		if len(k) != 8 || json.Unmarshal(v, &i) != nil || i.Key.Validate() != nil || i.ID == "" {
			s.lost = append(s.lost, fmt.Sprintf("an item of the inbox: %x", k))
			continue
		}
		if tx.Bucket(seenBucket).Get([]byte(i.ID)) != nil || consumed[i.ID] {
			continue
		}
		p := place{seq: binary.BigEndian.Uint64([]byte(k)), key: i.Key}
		turn := s.found[string(waitingBucket)][string(p.index())]
		err = errors.Join(
			err, items.Put([]byte(k), v), tx.Bucket(waitingBucket).Put(p.index(), append([]byte{}, turn...)),
			tx.Bucket(seenBucket).Put([]byte(i.ID), p.encode()), items.SetSequence(max(items.Sequence(), p.seq)),
		)
		*n++
	}
	return err
}

func (s *salvage) putRows(tx *bbolt.Tx, n *int) (err error) {
	rows := tx.Bucket(rowsBucket)
	for k, v := range s.found[string(rowsBucket)] {
		var r row
		if json.Unmarshal(v, &r) != nil || r.ID != sessions.RowID(k) || len(r.Parts) == 0 {
			s.lost = append(s.lost, fmt.Sprintf("a row of the outbox: %q", k))
			continue
		}
		err = errors.Join(err, r.put(tx, v), rows.SetSequence(max(rows.Sequence(), r.Seq)))
		*n++
	}
	return err
}

// putLogs stores the records, and returns the items that they say are consumed.
func (s *salvage) putLogs(tx *bbolt.Tx) (all []RepairedLog, consumed map[sessions.ItemID]bool, err error) {
	consumed = map[sessions.ItemID]bool{}
	logs := map[sessions.Key][]sessions.Record{}
	for k, v := range s.found[string(recordsBucket)] {
		key, ok := logOf(k)
		if !ok {
			s.lost = append(s.lost, fmt.Sprintf("a record: %q", k))
			continue
		}
		r, err := sessions.DecodeRecord(v, revisionOf([]byte(k)))
		if err != nil {
			s.lost = append(s.lost, fmt.Sprintf("%s: %v", key, err))
			continue
		}
		logs[key] = append(logs[key], r)
		for _, id := range r.Consumed {
			consumed[id] = true
		}
	}
	for k := range s.found[string(headsBucket)] { // a log of which nothing but its end is known
		if key := sessions.Key(k); key.Validate() == nil && logs[key] == nil {
			logs[key] = []sessions.Record{}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(logs)) {
		l, failed := s.putLog(tx, key, logs[key])
		all, err = append(all, l), errors.Join(err, failed)
	}
	return all, consumed, err
}

// logOf takes the key of a record apart.
func logOf(k string) (sessions.Key, bool) {
	if len(k) < 10 || k[len(k)-9] != 0 {
		return "", false
	}
	key := sessions.Key(k[:len(k)-9])
	return key, key.Validate() == nil
}

// putLog stores one log. If folding it would not give what it once gave, a reset stands behind it.
func (s *salvage) putLog(tx *bbolt.Tx, key sessions.Key, records []sessions.Record) (l RepairedLog, err error) {
	slices.SortFunc(records, func(a, b sessions.Record) int { return cmp.Compare(a.Revision, b.Revision) })
	l = RepairedLog{Key: key, Saved: len(records)}
	var last, base sessions.Revision
	if b := s.found[string(headsBucket)][string(key)]; len(b) == 16 {
		last = sessions.Revision(binary.BigEndian.Uint64(b))
	}
	from, whole := 0, true
	for n, r := range records {
		if n > 0 && r.Revision != records[n-1].Revision+1 {
			l.Lost, whole = l.Lost+int(r.Revision-records[n-1].Revision-1), false
		}
		if r.Base() {
			base, from, whole = r.Revision, n, true
		}
		err = errors.Join(err, tx.Bucket(recordsBucket).Put(recordKey(key, r.Revision), s.found[string(recordsBucket)][string(recordKey(key, r.Revision))]))
	}
	end := sessions.Revision(0)
	if len(records) > 0 {
		l.From, end = records[0].Revision, records[len(records)-1].Revision
		whole = whole && (base > 0 || records[0].Revision == 1)
	}
	if last > end {
		l.Lost, whole, end = l.Lost+int(last-end), false, last
	}
	if _, folds := sessions.Fold(key, records[from:]); !whole || folds != nil {
		end++
		base, l.Reset = end, true
		data, encoded := sessions.Record{At: time.Now(), Entries: []sessions.Entry{sessions.Reset{By: "repair", At: time.Now()}}}.Encode()
		l := LedgerLine{At: time.Now(), Key: key, Revision: end, Digest: hashOf(data)}
		err = errors.Join(err, encoded, tx.Bucket(recordsBucket).Put(recordKey(key, end), data), l.enter(tx))
	}
	return l, errors.Join(err, tx.Bucket(headsBucket).Put([]byte(key), append(number(uint64(end)), number(uint64(base))...)))
}
