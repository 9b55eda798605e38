package gateway

import (
	"context"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

const (
	lookPause = 5 * time.Second // before each look-up: a platform may show a new message only seconds later
	lookTimes = 2               // so often a message must not be there before it counts as not posted
	lookFor   = 5 * time.Minute // how long look-ups may fail; the lane waits meanwhile
)

// resolve finds out what became of a part that may have been posted, with what the platform has for it: the same key
// again, as long as that cannot make a second message; then a look-up, and if the message is not there the part is sent
// once more, once only. What cannot be found out stays in doubt. The lane waits, so that nothing overtakes the part. It
// reports whether another step of the part is due.
func (o *outbox) resolve(adapter platforms.Adapter, j *job, i int) bool {
	p, settled := o.repeat(adapter, j, i)
	if !settled {
		p = o.find(adapter, j, i, p)
	}
	if j.ctx.Err() != nil && p.State == sessions.Sending {
		return false // the next start goes on here
	}
	o.logged(j).Info("looked into an answer of unknown outcome", "part", i, "lane", j.row.Lane, "state", p.State)
	j.lost = false
	return o.mark(j.ctx, j, i, p) && p.State == sessions.Queued
}

// repeat sends the part again as long as the platform takes both attempts for one. It reports false if that did not
// settle the matter.
func (o *outbox) repeat(adapter platforms.Adapter, j *job, i int) (p sessions.Part, settled bool) {
	p = j.row.Parts[i]
	ctx, cancel := context.WithDeadline(j.ctx, p.First.Add(adapter.Limits().IdempotentFor))
	defer cancel()
	wait := backoff(1)
	for n := 1; sleepUntil(ctx, time.Now().Add(wait)); n++ {
		id, err := o.send(ctx, adapter, j, i)
		p.Attempts++
		switch platforms.ClassOf(err) {
		case "":
			p.State, p.MessageID, p.Error = sessions.Sent, id, ""
			return p, true
		case platforms.OutcomeUnknown, platforms.RateLimited, platforms.Transient:
			wait = max(platforms.WaitOf(err), backoff(n))
		case platforms.Fatal: // it says nothing about the attempt before
			return p, false
		default:
			p.State, p.Error = sessions.Dead, err.Error()
			return p, true
		}
	}
	return p, false
}

// find looks the part up. It returns the part as sent if it is there, queued if it certainly is not, in doubt if nobody
// can tell, and unchanged if the context ended.
func (o *outbox) find(adapter platforms.Adapter, j *job, i int, p sessions.Part) sessions.Part {
	finder, ok := adapter.(platforms.Finder)
	if !ok || p.First.IsZero() {
		return unknown(p, j.out.Notice)
	}
	deadline, wait := time.Now().Add(lookFor), lookPause
	for n, looks := 1, 0; looks < lookTimes; n++ {
		if !sleepUntil(j.ctx, time.Now().Add(wait)) {
			return p
		}
		to, out := o.outgoing(j, i)
		id, err := finder.Find(j.ctx, to, out, p.First)
		switch class := platforms.ClassOf(err); {
		case err == nil && id != "":
			p.State, p.MessageID, p.Error = sessions.Sent, id, ""
			return p
		case err == nil:
			looks, wait = looks+1, lookPause
		case (class == platforms.RateLimited || class == platforms.Transient) && time.Now().Before(deadline):
			wait = max(lookPause, platforms.WaitOf(err), backoff(n))
		default:
			o.logged(j).Warn("an answer of unknown outcome could not be looked up", "part", i, "error", err)
			return unknown(p, j.out.Notice)
		}
	}
	if p.Resent {
		return unknown(p, j.out.Notice)
	}
	p.State, p.Resent, p.NotBefore = sessions.Queued, true, time.Time{}
	return p
}

// unknown is the state of a part when nobody can tell whether it was posted: in doubt. A notice may stand twice, so it
// is tried once more instead.
func unknown(p sessions.Part, notice bool) sessions.Part {
	switch {
	case !notice:
		p.State = sessions.InDoubt
	case !p.Resent:
		p.State, p.Resent, p.NotBefore = sessions.Queued, true, time.Now().Add(backoff(p.Attempts))
	default:
		p.State = sessions.Dead
	}
	return p
}
