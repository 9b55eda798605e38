// Package sessions holds what must not be lost: the log of each conversation, the inbox of accepted updates, the
// outbox of messages to be delivered, and the one contract, Store, through which all of it is written.
//
// A conversation is an append-only log of Records under a Key; a Session is the fold of its entries since the last
// reset. Five families of commits exist, each one atomic and each with its own precondition, so that every commit can
// be one transaction of a file or one publish to a stream: Accept (an item that was not seen), Append (a record at the
// expected revision, by the current owner), Mark (a part of an outbox row in the expected state), Set (a value that
// belongs to no conversation and replaces the one before), Erase (a whole conversation, by the current owner). Inbox,
// outbox and whatever else is looked up are projections of these.
//
// Commits of one key, one item and one row are ordered by their preconditions; otherwise concurrent commits have no
// order. The package starts no goroutine; engines may, and Close waits for them. The package knows no platform, no
// model, no tool and never interprets a payload.
package sessions

import (
	"context"
	"errors"
	"iter"
	"time"
)

// What a failed precondition or a closed store is reported as; wrapped errors match with errors.Is.
var (
	ErrSeen   = errors.New("item was accepted before")
	ErrStale  = errors.New("not the owner any more, or the log has moved on")
	ErrState  = errors.New("row or value is not in the expected state")
	ErrInUse  = errors.New("database is in use; is another instance running?")
	ErrFormat = errors.New("database has a format that this version does not know")
	ErrClosed = errors.New("store is closed")
	// ErrFull: nothing was changed, and the store takes no new work (Accept, and records that start a turn) until
	// there is room again, which it finds out by itself. What ends running work may still be taken.
	ErrFull = errors.New("the disk is full or cannot be written to")
	// ErrCorrupt: what is on disk is not what was written. The store takes nothing any more.
	ErrCorrupt = errors.New("the database is damaged")
	// ErrTooBig: the commit does not fit into this engine, and never will.
	ErrTooBig = errors.New("too big to be stored")
)

// Commit is one atomic change. The set is closed: Accept, Append, Mark, Set, Erase.
type Commit interface{ commit() }

// Accept puts an item into the inbox. Precondition: its ID was never accepted, as far as the store remembers
// (see Store.Prune). Fails with ErrSeen.
type Accept struct{ Item Item }

// Append adds a record to a conversation's log. Precondition: the lease is the current one of its key and After is
// the key's last revision. Fails with ErrStale. A TurnStarted or Steered entry claims the items that it names; Consumed
// items leave the inbox; Outbox rows join their lanes. Claimed or consumed items that are not pending are passed over;
// those that are have the log's key, and so do the rows. Row ids must be new: engines that find one taken fail the commit
// with an error that is none of the ones above.
type Append struct {
	Lease  Lease
	After  Revision
	Record Record // Revision is ignored
}

// Mark moves one part of an outbox row. Precondition: the part is in state From. Fails with ErrState, also for a row
// that is not known (any more).
type Mark struct {
	Row  RowID
	Part int
	From State
	To   Part
}

// Set replaces a small value that is kept by name: what the whole program has to remember and no conversation does. An
// empty Value is none. Precondition: the value is Was. Fails with ErrState.
type Set struct {
	Name       string
	Was, Value []byte
}

// Erase removes all that there is of a conversation: its records, the items of its inbox, the rows of its outbox.
// Precondition: the lease is the current one of its key. Fails with ErrStale. The key stays with its owner, and its next
// record is the first one again. The ids of its items are remembered as if they had been consumed at At, so that a
// platform's repetition brings nothing back. To erase again is harmless, and completes what a crash has cut short.
type Erase struct {
	Lease Lease
	At    time.Time
}

func (Accept) commit() {}
func (Append) commit() {}
func (Mark) commit()   {}
func (Set) commit()    {}
func (Erase) commit()  {}

// Lease says who may append to a key. A newer lease of the same key makes all older ones stale.
type Lease struct {
	Key   Key
	Owner string
	Epoch uint64
}

// Conversation is what a new owner of a key gets to begin with.
type Conversation struct {
	Lease    Lease
	Revision Revision      // the last one
	Records  []Record      // from the last base on (see Record.Base), in order; all of them if there is none
	Pending  []PendingItem // in the order of acceptance
}

// Store is the published contract of an engine; storetest has the suite that each must pass. All methods may be called
// from any goroutine. A Commit is durable when it returns nil. Commits that arrive while one is being written share
// the next write; none waits for company. A failed precondition fails that commit alone, and so does a commit that is
// not well formed (see Validate). No memory is shared with the caller: what was passed in may be changed afterwards,
// and what was returned belongs to the caller. Times keep their instant, not their zone.
//
// Iterators read in steps: each element was true when it was read, and what is committed meanwhile may be seen or not.
// The loop's body may call the store. An error is the last thing that an iterator yields.
type Store interface {
	// Commit checks the commit's precondition and, if it holds, makes the change durable. It returns the new revision
	// of an Append and 0 otherwise. If the context ends first, the outcome is unknown to the caller, but never half.
	Commit(ctx context.Context, c Commit) (Revision, error)

	// Acquire makes owner the only one who may append to key, and returns what there is. It never fails because there
	// is nothing yet, nor because somebody else holds the key: he loses it.
	Acquire(ctx context.Context, key Key, owner string) (Conversation, error)
	// Release gives a lease back; a stale one is ignored.
	Release(ctx context.Context, lease Lease) error

	// History returns the records of a key with a revision above after, in order.
	History(ctx context.Context, key Key, after Revision) iter.Seq2[Record, error]
	// Keys returns all keys that have a record, in lexical order.
	Keys(ctx context.Context) iter.Seq2[Key, error]
	// Pending returns all items without an outcome, in the order of acceptance.
	Pending(ctx context.Context) iter.Seq2[PendingItem, error]
	// Item returns an item without an outcome, ErrState if no such item is known (any more).
	Item(ctx context.Context, id ItemID) (PendingItem, error)
	// Undelivered returns the rows that are not done, in the order of their commits.
	Undelivered(ctx context.Context) iter.Seq2[Row, error]
	// Row returns one row, ErrState if it is not known.
	Row(ctx context.Context, id RowID) (Row, error)

	// Value returns the value of that name, empty if there is none.
	Value(ctx context.Context, name string) ([]byte, error)

	// Prune forgets consumed items and done rows from before the given time and returns how many it forgot. An item's
	// time is Record.At of the record that consumed it, a row's that of the record that it came with. A forgotten item
	// could be accepted again, so the time must lie further back than any platform repeats an event. The log itself
	// and the values are never pruned. An engine that can give room back to the disk does so here, if it is worth it.
	Prune(ctx context.Context, before time.Time) (int, error)

	// Trim removes the records of a key with a revision below before, the oldest first, and returns how many. It stops
	// at the key's last base, so that what Acquire returns stays the same. Records of which an item or a row is still
	// remembered (see Prune) may stay, and what is after them.
	Trim(ctx context.Context, key Key, before Revision) (int, error)

	// Size tells how much room the store takes. It is cheap.
	Size(ctx context.Context) (Size, error)

	// Close waits for running commits, releases everything, and makes all later calls fail with ErrClosed; iterators
	// yield it. Closing again is harmless.
	Close() error
}

// Size is how much room a store takes, in bytes.
type Size struct {
	Total int64 // on disk, or of all that an engine without one keeps
	Free  int64 // of it that holds nothing and will be used again
}

// Used is what the contents take.
func (s Size) Used() int64 { return s.Total - s.Free }
