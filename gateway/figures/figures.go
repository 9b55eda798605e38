// Package figures reads from a store, after the fact, what became of everything that was ever accepted, whichever
// process did it: for the tests that stop or kill a gateway and then hold it to account. It starts no goroutine and
// changes nothing. It reads the whole history, so it is nothing for a running gateway.
package figures

import (
	"context"
	"errors"
	"fmt"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/sessions"
)

// Figures counts items and rows. Nothing is counted twice.
type Figures struct {
	Ended   map[gateway.Ending]int // items that have their outcome
	Pending int                    // items that wait for it
	Sent    int                    // rows of which all parts were sent
	Dead    int                    // rows of which a part will never be sent, and none is in doubt
	InDoubt int                    // rows of which a part is in doubt
	Waiting int                    // rows that are still on their way
	Done    int                    // rows that the store has forgotten, so they were sent or dead
}

// Accepted is how many items were ever accepted.
func (f Figures) Accepted() int {
	n := f.Pending
	for _, ended := range f.Ended {
		n += ended
	}
	return n
}

// String is one line for a test's report.
func (f Figures) String() string {
	return fmt.Sprintf("accepted %d = ended %v + pending %d; answers sent %d, dead %d, in doubt %d, waiting %d, forgotten %d",
		f.Accepted(), f.Ended, f.Pending, f.Sent, f.Dead, f.InDoubt, f.Waiting, f.Done)
}

// Read counts what a store holds. An item that has two outcomes, or one while it waits, is an error. Nobody may write
// meanwhile.
func Read(ctx context.Context, store sessions.Store) (Figures, error) {
	f := Figures{Ended: map[gateway.Ending]int{}}
	ended := map[sessions.ItemID]gateway.Ending{}
	for key, err := range store.Keys(ctx) {
		if err != nil {
			return f, err
		}
		for r, err := range store.History(ctx, key, 0) {
			if err != nil {
				return f, err
			}
			how := gateway.EndingOf(r)
			for _, id := range r.Consumed {
				if before, twice := ended[id]; twice {
					return f, fmt.Errorf("item %s ended twice: %s, %s", id, before, how)
				}
				ended[id] = how
				f.Ended[how]++
			}
			for _, row := range r.Outbox {
				if err := f.row(ctx, store, row.ID); err != nil {
					return f, err
				}
			}
		}
	}
	for item, err := range store.Pending(ctx) {
		if err != nil {
			return f, err
		}
		if how, over := ended[item.ID]; over {
			return f, fmt.Errorf("item %s waits although it ended: %s", item.ID, how)
		}
		f.Pending++
	}
	return f, nil
}

// row counts one row by the worst of its parts.
func (f *Figures) row(ctx context.Context, store sessions.Store, id sessions.RowID) error {
	row, err := store.Row(ctx, id)
	if errors.Is(err, sessions.ErrState) {
		f.Done++
		return nil
	}
	if err != nil {
		return err
	}
	switch gateway.StateOf(row) {
	case sessions.Sent:
		f.Sent++
	case sessions.Dead:
		f.Dead++
	case sessions.InDoubt:
		f.InDoubt++
	default:
		f.Waiting++
	}
	return nil
}
