//go:build unix

package main

import (
	"context"
	"regexp"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

// findings is what the database holds after a kill, by the ids of the questions.
type findings struct {
	accepted map[string]bool           // in the inbox or in the log
	begun    map[string]bool           // in the log: a turn has claimed it
	open     map[string]*sessions.Turn // the turns that were cut off
	sending  map[string]sessions.RowID // the answer was on its way
	places   string                    // where the program will look, on Discord, for what it was not handed over
	waiting  int                       // items without an outcome and answers that were not on their way yet
}

// in tells whether the database looks as it must if a question was in a state when the program was killed.
func (f findings) in(state string, q *question) bool {
	switch turn := f.open[q.id]; state {
	case idle:
		return f.waiting == 0 && len(f.sending) == 0
	case accepting:
		return !f.begun[q.id] || q.seat.platform == "telegram" // where the trap says it
	case calling:
		return turn != nil && len(turn.Open) == 0
	case streaming: // Telegram draws it by itself, and no message shows it
		return turn != nil && (len(turn.Stream) == 1) == (q.seat.platform != "telegram")
	case toolRunning:
		return turn != nil && len(turn.Open) == 1
	case before, after:
		return f.sending[q.id] != ""
	}
	return true
}

// unfinished tells whether the next start has something to take up.
func (f findings) unfinished() bool { return f.waiting > 0 || len(f.open) > 0 || len(f.sending) > 0 }

var answerIn = regexp.MustCompile(`answer-(\d{3})`)

// examine opens the database of the killed program, checks that it can be read, and notes what has to be so at the end.
func (d *drill) examine() findings {
	d.t.Helper()
	f := findings{map[string]bool{}, map[string]bool{}, map[string]*sessions.Turn{}, map[string]sessions.RowID{}, "", 0}
	d.read(func(ctx context.Context, store *bolt.Store) {
		places, err := store.Value(ctx, "heard discord")
		d.must(err)
		f.places = string(places)
		for item, err := range store.Pending(ctx) {
			d.must(err)
			if found := questionIn.FindSubmatch(item.Payload); found != nil {
				f.accepted[string(found[1])] = true
			}
			f.waiting++
		}
		for key, err := range store.Keys(ctx) {
			d.must(err)
			s := &sessions.Session{Key: key}
			id := d.fold(ctx, store, s, nil)
			f.accepted[id], f.begun[id] = true, true
			if s.Turn != nil {
				f.open[id] = s.Turn
				for _, call := range s.Turn.Open {
					d.unknown[call.ID] = true
				}
			}
		}
		for row, err := range store.Undelivered(ctx) {
			d.must(err)
			found := answerIn.FindSubmatch(row.Payload)
			switch {
			case row.Parts[0].State == sessions.Queued:
				f.waiting++
			case row.Parts[0].State == sessions.Sending && found != nil:
				f.sending[string(found[1])] = row.ID
				d.doubtful[string(found[1])] = true
				d.looking[row.ID] = len(d.runs)
			}
		}
	})
	return f
}

// fold folds a conversation's whole log, shows each entry, and returns the id of its question.
func (d *drill) fold(ctx context.Context, store *bolt.Store, s *sessions.Session, show func(sessions.Entry)) (id string) {
	d.t.Helper()
	for record, err := range store.History(ctx, s.Key, 0) {
		d.must(err)
		d.must(s.Apply(record))
		for _, e := range record.Entries {
			if m, ok := e.(sessions.UserMessage); ok {
				if found := questionIn.FindStringSubmatch(m.Message.Text); found != nil {
					id = found[1]
				}
			}
			if show != nil {
				show(e)
			}
		}
	}
	return id
}

// read opens the database while the program does not run.
func (d *drill) read(look func(context.Context, *bolt.Store)) {
	d.t.Helper()
	store, err := bolt.Open(d.database)
	d.must(err)
	look(d.t.Context(), store)
	d.must(store.Close())
}

func (d *drill) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}
