//go:build unix

package main

import (
	"context"
	"os"
	"strings"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

// checkChats looks at what each person sees.
func (d *drill) checkChats() {
	d.t.Helper()
	for _, q := range d.questions {
		answers, offers := q.answers(), len(q.offers())
		if q.seat.count(q.half()) > 0 {
			d.t.Errorf("question %s (%s): half an answer still shows", q.id, q.seat.platform)
		}
		doubtful := d.doubtful[q.id] && !d.again[q.id]
		switch {
		case answers == 1 && offers == 0 && !(doubtful && q.asks()):
		case answers <= 1 && (offers == 1 || offers == 2) && doubtful: // a notice may come twice
		default:
			d.t.Errorf("question %s (%s, %s, in doubt: %v): %d answers and %d offers are seen", q.id, q.seat.platform, q.kind,
				d.doubtful[q.id], answers, offers)
			for _, m := range q.seat.stage.Visible(q.seat.chat) {
				d.t.Logf("  %s: %s", m.User, m.Visible)
			}
		}
	}
}

// checkEffects looks at what the tools did: each at most once, and those that were seen to run, once.
func (d *drill) checkEffects() {
	d.t.Helper()
	text, err := os.ReadFile(d.effects)
	if err != nil {
		d.t.Fatal(err)
	}
	times := map[string]int{}
	for _, id := range strings.Fields(string(text)) {
		times[id]++
	}
	for _, q := range d.questions {
		switch n := times[q.id]; {
		case n > 1, n == 0 && q.kind == "hold", n == 1 && q.kind == "plain":
			d.t.Errorf("the tool call of question %s (%s) took effect %d times", q.id, q.kind, n)
		}
	}
}

// checkDatabase looks at what is left when the program has ended in peace.
func (d *drill) checkDatabase() {
	d.t.Helper()
	d.read(func(ctx context.Context, store *bolt.Store) {
		for item, err := range store.Pending(ctx) {
			d.must(err)
			d.t.Errorf("an accepted item has no outcome: %s", item.ID)
		}
		for row, err := range store.Undelivered(ctx) {
			d.must(err)
			found := answerIn.FindStringSubmatch(string(row.Payload))
			if found == nil || !d.doubtful[found[1]] || row.Parts[0].State != sessions.InDoubt {
				d.t.Errorf("a message was not delivered: %s %+v", row.Payload, row.Parts)
			}
		}
		for key, err := range store.Keys(ctx) {
			d.must(err)
			d.checkLog(ctx, store, key)
		}
	})
	for id := range d.unknown {
		d.t.Errorf("the call %s was cut off and has no result", id)
	}
}

// checkLog checks one conversation: its turns are closed, its ledger is valid, and calls that were cut off say so.
func (d *drill) checkLog(ctx context.Context, store *bolt.Store, key sessions.Key) {
	d.t.Helper()
	s := &sessions.Session{Key: key}
	started, ended := 0, 0
	d.fold(ctx, store, s, func(e sessions.Entry) {
		switch e := e.(type) {
		case sessions.TurnStarted:
			started++
		case sessions.TurnEnded:
			ended++
			if e.Reason != string(loop.EndAnswered) {
				d.t.Errorf("%s: a turn ended with %q", key, e.Reason)
			}
		case sessions.ToolResult:
			call := e.Message.ToolCallID
			if cut := d.unknown[call]; cut != (e.Outcome == sessions.OutcomeUnknown) {
				d.t.Errorf("%s: the outcome of call %s is %q; it was cut off: %v", key, call, e.Outcome, cut)
			}
			delete(d.unknown, call)
		}
	})
	if started != 1 || ended != 1 || s.Turn != nil {
		d.t.Errorf("%s: %d turns were started and %d ended for one question", key, started, ended)
	}
	if err := loop.CheckLedger(s.Messages); err != nil {
		d.t.Errorf("%s: the ledger is not valid: %v", key, err)
	}
}
