package sessions

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Key names one conversation. The gateway has the only builder; the format is permanent. A key consists of letters,
// digits and "-._/:", so that it can be part of a subject or a file name after replacing the slashes.
type Key string

// Revision orders the records of one key. Zero means "nothing yet". Revisions grow, not necessarily by one; only
// comparing those of the same key has a meaning.
type Revision uint64

// ItemID is the native identity of an event of a platform, unique over all platforms, accounts and time.
type ItemID string

// Item is one accepted update that waits for its outcome.
type Item struct {
	ID      ItemID    `json:"id"`
	Key     Key       `json:"key"`
	Payload []byte    `json:"payload"` // versioned bytes of the gateway; opaque here
	At      time.Time `json:"at"`
}

// PendingItem is an item that has no outcome yet. Turn is the turn that claimed it, empty while it waits.
type PendingItem struct {
	Item
	Turn string
}

// Record is one committed change of a conversation's log: all of it happens, or nothing.
type Record struct {
	Revision Revision // given by the store
	At       time.Time
	Entries  []Entry
	Consumed []ItemID // items that have their outcome now
	Ended    string   // what became of them, in the gateway's words; empty = a TurnEnded entry says it
	Outbox   []Row    // messages to be delivered, in this order
}

// State says where the delivery of one part of a row stands.
type State string

const (
	Queued  State = "queued"
	Sending State = "sending"  // committed before the call; found at start, nobody knows whether it was posted
	Sent    State = "sent"     // final
	InDoubt State = "in doubt" // may or may not have been posted; only a person's wish sends it again
	Dead    State = "dead"     // final: will never be sent
)

// Final tells whether nothing more will happen to a part in this state.
func (s State) Final() bool { return s == Sent || s == Dead }

// Part is the delivery of one part of a row.
type Part struct {
	State     State     `json:"state"`
	MessageID string    `json:"message_id,omitempty"` // the platform's, once sent
	Attempts  int       `json:"attempts,omitempty"`
	NotBefore time.Time `json:"not_before,omitzero"`
	First     time.Time `json:"first,omitzero"`   // when the first attempt began that may have posted it; zero = none
	Resent    bool      `json:"resent,omitempty"` // it was looked for and not found, so it is sent once more
	Error     string    `json:"error,omitempty"`  // the last one, without secrets
}

// RowID is the idempotency key of an outbox row, unique over all keys and time.
type RowID string

// Row is one message in the outbox. Its payload is fixed; the state of its parts moves by Marks.
type Row struct {
	ID      RowID  `json:"id"`
	Key     Key    `json:"key"`
	Lane    string `json:"lane"`    // the address; rows of one lane are delivered in the order of their commits
	Payload []byte `json:"payload"` // versioned bytes of the gateway; opaque here
	Parts   []Part `json:"parts"`   // at least one
}

// Done tells whether all parts are final.
func (r Row) Done() bool {
	for _, p := range r.Parts {
		if !p.State.Final() {
			return false
		}
	}
	return true
}

// Base tells whether folding can begin at this record, because an entry of it replaces all that was before.
func (r Record) Base() bool { return r.lastBase() >= 0 }

// lastBase returns the index of the last entry that replaces all that was before, -1 if there is none.
func (r Record) lastBase() int {
	for i, e := range slices.Backward(r.Entries) {
		switch e.(type) {
		case Compaction, Reset, Rewound:
			return i
		}
	}
	return -1
}

// Claims returns the items that the record's turn claims, and the turn. A record claims at most once.
func (r Record) Claims() (turn string, items []ItemID) {
	for _, e := range r.Entries {
		switch e := e.(type) {
		case TurnStarted:
			return e.Turn, e.Inputs
		case Steered:
			return e.Turn, e.Inputs
		}
	}
	return "", nil
}

// recordVersion is the version of a record's encoding.
const recordVersion = 1

type recordJSON struct {
	Version  int         `json:"v"`
	At       time.Time   `json:"at"`
	Entries  []entryJSON `json:"entries,omitempty"`
	Consumed []ItemID    `json:"consumed,omitempty"`
	Ended    string      `json:"ended,omitempty"`
	Outbox   []Row       `json:"outbox,omitempty"`
}

// Encode returns the record as versioned bytes, without its revision.
func (r Record) Encode() ([]byte, error) {
	j := recordJSON{Version: recordVersion, At: r.At, Consumed: r.Consumed, Ended: r.Ended, Outbox: r.Outbox}
	for _, e := range r.Entries {
		ej, err := encodeEntry(e)
		if err != nil {
			return nil, err
		}
		j.Entries = append(j.Entries, ej)
	}
	return json.Marshal(j)
}

// DecodeRecord reads what Encode wrote. An unknown version or an unknown kind of entry is an error.
func DecodeRecord(data []byte, at Revision) (Record, error) {
	var j recordJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return Record{}, fmt.Errorf("decode record %d: %w", at, err)
	}
	if j.Version != recordVersion {
		return Record{}, fmt.Errorf("decode record %d: version %d is not known", at, j.Version)
	}
	r := Record{Revision: at, At: j.At, Consumed: j.Consumed, Ended: j.Ended, Outbox: j.Outbox}
	for _, ej := range j.Entries {
		e, err := decodeEntry(ej)
		if err != nil {
			return Record{}, fmt.Errorf("record %d: %w", at, err)
		}
		r.Entries = append(r.Entries, e)
	}
	return r, nil
}
