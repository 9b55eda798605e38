//go:build unix

package main

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/talaria-agent/talaria/gateway/figures"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

// verdict is what became of all questions.
type verdict struct{ messages, lost, repeated, doubtful, givenUp int }

// ledger is what the database says, by the ids of the questions.
type ledger struct {
	ended    map[string]string         // why the question's turn ended
	doubtful map[string]sessions.RowID // the row in doubt that answers it
}

// check holds what the people see against what the database says.
func (s *storm) check() (v verdict) {
	s.t.Helper()
	l := s.readLedger()
	for _, p := range s.people {
		givenUp := 0
		for n, kind := range p.asked {
			id := p.id(n)
			v.messages++
			first, end, doubtful := p.seat.count("answer-"+id), p.seat.count(ending(id, kind)), l.doubtful[id]
			reason := l.ended[id]
			ok := false
			switch {
			case first > 1 || end > 1:
				v.repeated++
			case doubtful != "":
				v.doubtful++
				offers := p.offers(doubtful)
				ok = reason != "" && (offers == 1 || offers == 2) // a notice may come twice
			case reason == string(loop.EndAnswered):
				ok = first == 1 && end == 1
			case reason == string(loop.EndCrashed):
				v.givenUp++
				givenUp++
				ok = first == 0 && end == 0
			}
			if !ok && first == 0 {
				v.lost++
			}
			if !ok {
				s.t.Errorf("%s: question %s (%s) ended with %q, in doubt: %q; its answer stands %d times and its end %d times",
					p.seat.platform, id, kind, reason, doubtful, first, end)
				p.show(s.t)
			}
		}
		if notices := p.seat.count(givenUpText); notices < givenUp {
			s.t.Errorf("%s: %d questions of %s were given up, and %d notices are seen", p.seat.platform, givenUp, p.seat.user, notices)
			p.show(s.t)
		}
		for _, row := range p.doubtful {
			if n := p.offers(row); n > 0 && l.doubtful[s.sending[row]] != row {
				s.t.Errorf("%s: the answer to question %s is not in doubt, and is offered %d times", p.seat.platform, s.sending[row], n)
			}
		}
	}
	s.checkEffects()
	for _, err := range s.model.Refused() {
		s.t.Errorf("the model refused a request: %v", err)
	}
	return v
}

// readLedger reads the database after the program has ended in peace, and checks what must be so whatever happened.
func (s *storm) readLedger() ledger {
	s.t.Helper()
	l := ledger{map[string]string{}, map[string]sessions.RowID{}}
	s.read(func(ctx context.Context, store *bolt.Store) {
		f, err := figures.Read(ctx, store)
		s.must(err) // nothing has two outcomes
		if f.Pending > 0 || f.Waiting > 0 {
			s.t.Errorf("not all is done: %s", f)
		}
		s.t.Log(f)
		for row, err := range store.Undelivered(ctx) {
			s.must(err)
			s.checkDoubt(row, l)
		}
		for key, err := range store.Keys(ctx) {
			s.must(err)
			s.checkConversation(ctx, store, key, l)
		}
	})
	return l
}

// checkDoubt checks that a row is rightly in doubt: on Telegram, which cannot be asked, and killed inside the call.
func (s *storm) checkDoubt(row sessions.Row, l ledger) {
	s.t.Helper()
	for i, p := range row.Parts {
		switch {
		case p.State.Final():
		case p.State != sessions.InDoubt:
			s.t.Errorf("%s: part %d of a message is %s: %.200s", row.Key, i, p.State, row.Payload)
		case !strings.HasPrefix(string(row.Key), string(platforms.Telegram)) || s.sending[row.ID] == "":
			s.t.Errorf("%s: a message is in doubt without need (sent at a kill: %q): %.200s", row.Key, s.sending[row.ID], row.Payload)
		}
	}
	l.doubtful[s.sending[row.ID]] = row.ID
}

// checkConversation folds one log and checks its ledger, and that every question began one turn.
func (s *storm) checkConversation(ctx context.Context, store *bolt.Store, key sessions.Key, l ledger) {
	s.t.Helper()
	folded := &sessions.Session{Key: key}
	turns, questions := map[string]string{}, map[string]bool{} // the question by the turn; those taken up
	for record, err := range store.History(ctx, key, 0) {
		s.must(err)
		s.must(folded.Apply(record))
		for _, e := range record.Entries {
			switch e := e.(type) {
			case sessions.UserMessage:
				if found := asking.FindStringSubmatch(e.Message.Text); found != nil {
					if questions[found[1]] {
						s.t.Errorf("%s: question %s was taken up twice", key, found[1])
					}
					turns[e.Turn], questions[found[1]] = found[1], true
				}
			case sessions.TurnEnded:
				l.ended[turns[e.Turn]] = e.Reason
			}
		}
	}
	if folded.Turn != nil {
		s.t.Errorf("%s: turn %s stands open", key, folded.Turn.ID)
	}
	if err := loop.CheckLedger(folded.Messages); err != nil {
		s.t.Errorf("%s: the ledger is not valid: %v", key, err)
	}
}

// checkEffects checks that no tool call took effect twice, and none that nobody asked for.
func (s *storm) checkEffects() {
	s.t.Helper()
	text, err := os.ReadFile(s.effects)
	s.must(err)
	times := map[string]int{}
	for _, id := range strings.Fields(string(text)) {
		times[id]++
	}
	for _, p := range s.people {
		for n, kind := range p.asked {
			if n, most := times[p.id(n)], map[string]int{quick: 1}[kind]; n > most {
				s.t.Errorf("%s: the tool call of question %s (%s) took effect %d times", p.seat.platform, p.id(n), kind, n)
			}
			delete(times, p.id(n))
		}
	}
	if len(times) > 0 {
		s.t.Errorf("effects that nobody asked for: %v", times)
	}
}

// fetchFigures reads the program's metrics, the sums over the labels by the name; empty if it does not answer.
func (s *storm) fetchFigures() map[string]float64 {
	sums := map[string]float64{}
	res, err := http.Get("http://" + s.figures + "/metrics")
	if err != nil {
		return map[string]float64{"talaria_inbox_pending": 1}
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), " ")
		name, _, _ = strings.Cut(name, "{")
		if i := strings.LastIndex(value, " "); i >= 0 {
			value = value[i+1:] // a label holds a space
		}
		if f, err := strconv.ParseFloat(value, 64); ok && err == nil {
			sums[name] += f
		}
	}
	return sums
}

// checkFigures checks that what the last process has counted adds up.
func (s *storm) checkFigures() {
	s.t.Helper()
	f := s.fetchFigures()
	for _, box := range [][4]string{
		{"inbox_found", "inbox_accepted_total", "inbox_ended_total", "inbox_pending"},
		{"outbox_found", "outbox_queued_total", "outbox_ended_total", "outbox_waiting"},
	} {
		n := func(i int) float64 { return f["talaria_"+box[i]] }
		if n(0)+n(1) != n(2)+n(3) {
			s.t.Errorf("%s %v + %s %v is not %s %v + %s %v", box[0], n(0), box[1], n(1), box[2], n(2), box[3], n(3))
		}
	}
}
