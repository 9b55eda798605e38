package gateway

import (
	"context"
	"fmt"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// keepTime starts jobs when they are due, until the context ends. There is one timer, for the next of them.
func (g *Gateway) keepTime(ctx context.Context) {
	there := func(p platforms.Name) bool { return g.adapters[p] != nil }
	for failures := 0; ; {
		next, due := g.plans.due(time.Now(), there)
		failed := false
		for _, number := range due {
			if err := g.run(ctx, number); err != nil && ctx.Err() == nil {
				g.log.Error("a job could not be started; trying again", "job", number, "error", err)
				failed = true
			}
		}
		switch {
		case failed:
			failures++
			if !sleepUntil(ctx, time.Now().Add(backoff(failures))) {
				return
			}
			continue
		case len(due) > 0:
			failures = 0
			continue
		}
		if !g.waitFor(ctx, next) {
			return
		}
	}
}

// waitFor waits for a moment, if it is one, or until a job has changed. It reports false if the context ended.
func (g *Gateway) waitFor(ctx context.Context, at time.Time) bool {
	var rings <-chan time.Time
	if !at.IsZero() {
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		rings = timer.C
	}
	select {
	case <-rings:
	case <-g.plans.changed:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// run starts a job that is due: the inbox gets an item for the moment at which it was, and what becomes of that is the
// affair of the job's conversation. Only then is the moment over. If the process dies in between the same item is made once
// more, and the inbox knows it. Of several moments that have passed the last one counts.
func (g *Gateway) run(ctx context.Context, number int) error {
	_, job, err := g.plans.read(ctx, number)
	if err != nil || job == nil {
		return err
	}
	now := time.Now()
	at, ok := job.next()
	if !ok || at.After(now) {
		return nil
	}
	grace := g.now().Jobs.Grace
	if recent, ok := job.When.Next(now.Add(-grace - time.Second)); ok && recent.After(at) && !recent.After(now) {
		at = recent
	}
	for {
		later, ok := job.When.Next(at)
		if !ok || later.After(now) || now.Sub(at) > grace+time.Second {
			break
		}
		at = later
	}
	e := job.errand()
	e.Due, e.Late, e.Missed = job.When.Show(at), now.Sub(at) > time.Minute, now.Sub(at) > grace+time.Second
	wake, err := g.start(ctx, job, e, fmt.Sprintf("job/%d/%d", number, at.Unix()))
	if err != nil {
		return err
	}
	wake()
	if !job.When.Recurs() {
		return g.plans.remove(ctx, number)
	}
	last := at
	if e.Missed {
		last = now
	}
	_, err = g.plans.change(ctx, number, func(p *plan) { p.Last = last })
	return err
}

// errand returns what a run of the job is.
func (p *plan) errand() *errand {
	return &errand{Kind: jobKind, Number: p.Number, Title: p.Title, To: p.To, Toolsets: p.Toolsets, MaxTurns: p.MaxTurns}
}

// start puts a run of a job into the inbox, and returns what lets it begin. The id is the same for the same cause.
func (g *Gateway) start(ctx context.Context, job *plan, e *errand, id string) (wake func(), err error) {
	m := &platforms.Message{
		Origin: job.Origin, Native: id, Mentioned: true, Text: e.brief(job.When.String(), job.Prompt), At: time.Now(),
	}
	return g.prepare(ctx, errandKey(jobKind, job.Origin, job.Number), id, &input{Message: m, Errand: e})
}
