//go:build unix

package main

import (
	"os"
	"runtime"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

// The states in which the program is killed.
const (
	idle        = "idle"
	accepting   = "accepting"
	calling     = "calling"
	streaming   = "streaming"
	toolRunning = "tool running"
	committing  = "committing"
	before      = "sending, before it was applied"
	after       = "sending, after it was applied"

	recovering = "recovering from a kill" // comes on top of another one
)

var killStates = []string{idle, accepting, calling, streaming, toolRunning, committing, before, after}

// odd tells whether a round is every other one, of all and of those with the same state.
func odd(n int) bool { return (n+n/len(killStates))%2 == 1 }

// bring asks a question and returns when it has reached a state.
func (d *drill) bring(n int, state string, p platforms.Name) (q *question, reached bool) {
	d.t.Helper()
	switch state {
	case idle:
		q = d.ask(p, "plain")
		for _, q := range d.questions {
			d.settled(q)
		}
		d.quiet()
	case accepting:
		q = d.newQuestion(p, "plain")
		confirming := d.trap.set(accepting, q.text())
		q.seat.say(d.t, q.text())
		if p == platforms.Telegram { // which shows when an update is confirmed; elsewhere the kill comes at once
			receive(d.t, "an update is confirmed", confirming)
		}
	case toolRunning:
		q = d.ask(p, "hold")
		if id := receive(d.t, "a tool runs", d.tools); id != q.id {
			d.t.Fatalf("the tool of question %s runs, not that of %s", id, q.id)
		}
	case committing:
		d.quiet()
		last := d.stamp()
		q = d.ask(p, "plain")
		return q, d.written(last, 1+n/len(killStates)%3, 5*time.Second)
	case calling:
		q = d.newQuestion(p, "plain")
		sprung := d.trap.set(calling, "question-"+q.id)
		q.seat.say(d.t, q.text())
		receive(d.t, "the model is asked", sprung)
	case streaming:
		q = d.newQuestion(p, "plain")
		d.trap.set(streaming, "question-"+q.id)
		q.seat.say(d.t, q.text())
		q.seat.sees(d.t, q.half())
		d.quiet() // so that the log names what shows it
	case before, after:
		q = d.newQuestion(p, map[bool]string{false: "plain", true: "quick"}[odd(n)])
		if state == before && p == platforms.Slack {
			q.blind = true
			d.slack.Faults().Add(sim.Fault{Method: "conversations.history", Error: "missing_scope", Times: -1})
		}
		sprung := d.trap.set(state, q.answer())
		q.seat.say(d.t, q.text())
		receive(d.t, "the answer is sent", sprung)
	}
	return q, true
}

// quiet returns when the database has not been written for a while.
func (d *drill) quiet() {
	for last := (stamp{}); last != d.stamp(); <-time.After(100 * time.Millisecond) {
		last = d.stamp()
	}
}

// stamp is what changes with a write to the database.
type stamp struct{ modified, size int64 }

func (d *drill) stamp() stamp {
	info, err := os.Stat(d.database)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime().UnixNano(), info.Size()}
}

// written returns right when the database has been written for the nth time; false if that was not to be seen.
func (d *drill) written(last stamp, nth int, within time.Duration) bool {
	for late := time.Now().Add(within); time.Now().Before(late); runtime.Gosched() {
		now := d.stamp()
		if now == last {
			continue
		}
		if last, nth = now, nth-1; nth == 0 {
			return true
		}
	}
	return false
}
