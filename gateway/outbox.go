package gateway

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/markup"
	"github.com/talaria-agent/talaria/sessions"
)

const (
	// sendAttempts is how often a part is tried while the platform is in trouble. With the backoff's cap of a minute
	// that is most of a day.
	sendAttempts   = 1000
	backoffFirst   = time.Second
	backoffLongest = time.Minute
)

// outbox delivers rows: one lane an address, in the order of their commits, one goroutine a lane while it has work. A
// lane that has to wait holds no other.
type outbox struct {
	store    sessions.Store
	adapters map[platforms.Name]platforms.Adapter
	log      *slog.Logger
	doubt    func(sessions.Row) // called when a part of a row is in doubt

	ctx   context.Context // ends when delivery must stop at once
	mu    sync.Mutex
	idle  *sync.Cond // no lane is left
	lanes map[string]*lane
}

type lane struct {
	jobs     []*job
	reserved int // prepared commits that have not come back yet
	running  bool
}

// job is a row on its way. It belongs to its lane's goroutine.
type job struct {
	row sessions.Row
	out output
}

func newOutbox(ctx context.Context, store sessions.Store, adapters map[platforms.Name]platforms.Adapter, log *slog.Logger) *outbox {
	o := &outbox{store: store, adapters: adapters, log: log, ctx: ctx, lanes: map[string]*lane{}}
	o.idle = sync.NewCond(&o.mu)
	return o
}

// batch is a set of rows that is about to be committed.
type batch struct {
	rows []sessions.Row
	jobs []*job
}

// prepare makes rows of outputs, for one commit. The first row of an idle lane is written as "sending" at once, which
// saves a commit; the lane is reserved for it until start or cancel.
func (o *outbox) prepare(key sessions.Key, outs []output) (batch, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b batch
	for _, out := range outs {
		payload, err := out.encode()
		if err != nil {
			o.release(b)
			return batch{}, err
		}
		if out.id == "" {
			out.id = sessions.RowID(newID())
		}
		row := sessions.Row{
			ID: out.id, Key: key, Lane: out.To.String(), Payload: payload,
			Parts: make([]sessions.Part, len(out.Pieces)),
		}
		for i := range row.Parts {
			row.Parts[i].State = sessions.Queued
		}
		l := o.lanes[row.Lane]
		if l == nil {
			l = &lane{}
			o.lanes[row.Lane] = l
			row.Parts[0].State = sessions.Sending
		}
		l.reserved++
		b.rows = append(b.rows, row)
		b.jobs = append(b.jobs, &job{row: row, out: out})
	}
	return b, nil
}

// start hands committed rows to their lanes.
func (o *outbox) start(b batch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, j := range b.jobs {
		o.lanes[j.row.Lane].reserved--
		o.push(j)
	}
}

// cancel gives the lanes back after a failed commit.
func (o *outbox) cancel(b batch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.release(b)
}

func (o *outbox) release(b batch) {
	for _, j := range b.jobs {
		l := o.lanes[j.row.Lane]
		l.reserved--
		if l.reserved == 0 && !l.running {
			delete(o.lanes, j.row.Lane)
		}
	}
	o.idle.Broadcast()
}

// push queues a job; mu is held.
func (o *outbox) push(j *job) {
	l := o.lanes[j.row.Lane]
	if l == nil {
		l = &lane{}
		o.lanes[j.row.Lane] = l
	}
	l.jobs = append(l.jobs, j)
	if !l.running {
		l.running = true
		go o.run(j.row.Lane, l)
	}
}

// run delivers a lane's rows until none is left.
func (o *outbox) run(name string, l *lane) {
	for {
		o.mu.Lock()
		if len(l.jobs) == 0 || o.ctx.Err() != nil {
			l.running = false
			if l.reserved == 0 || o.ctx.Err() != nil {
				delete(o.lanes, name)
			}
			o.idle.Broadcast()
			o.mu.Unlock()
			return
		}
		j := l.jobs[0]
		l.jobs = l.jobs[1:]
		o.mu.Unlock()
		o.deliver(j)
	}
}

// flush waits until every lane is empty or the context ends.
func (o *outbox) flush(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.idle.Broadcast()
	})
	defer stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.lanes) > 0 && ctx.Err() == nil {
		o.idle.Wait()
	}
}

// recover takes over what an earlier process left: what was being sent is in doubt, what was queued goes on.
func (o *outbox) recover(ctx context.Context) error {
	var found []sessions.Row
	for row, err := range o.store.Undelivered(ctx) {
		if err != nil {
			return err
		}
		found = append(found, row)
	}
	for _, row := range found {
		out, err := decodeOutput(row)
		if err != nil {
			return err
		}
		if o.adapters[out.To.Platform] == nil {
			o.log.Warn("an answer waits for a platform that is not configured", "row", row.ID, "lane", row.Lane)
			continue
		}
		o.recoverRow(&job{row, out})
	}
	return nil
}

func (o *outbox) recoverRow(j *job) {
	doubt := false
	for i := range j.row.Parts {
		switch p := j.row.Parts[i]; {
		case p.State == sessions.Sending && j.out.Notice && p.Attempts < 1:
			p.State, p.Attempts = sessions.Queued, p.Attempts+1
			o.mark(j, i, p)
		case p.State == sessions.Sending && j.out.Notice:
			p.State, p.Error = sessions.Dead, "unknown whether the notice arrived"
			o.mark(j, i, p)
		case p.State == sessions.Sending:
			p.State, p.Error = sessions.InDoubt, "the program stopped while it was being sent"
			o.mark(j, i, p)
			doubt = true
		case p.State == sessions.InDoubt:
			doubt = true
		}
	}
	if doubt {
		o.inDoubt(j)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.push(j)
}

// again queues a part that was in doubt once more. It reports false if the part is not in doubt any more.
func (o *outbox) again(ctx context.Context, id sessions.RowID, part int) (bool, error) {
	row, err := o.store.Row(ctx, id)
	if err != nil {
		return false, err
	}
	if part < 0 || part >= len(row.Parts) || row.Parts[part].State != sessions.InDoubt {
		return false, nil
	}
	out, err := decodeOutput(row)
	if err != nil {
		return false, err
	}
	j := &job{row, out}
	p := row.Parts[part]
	p.State = sessions.Queued
	if !o.mark(j, part, p) {
		return false, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.push(j)
	return true, nil
}

// deliver sends what a row still has to send.
func (o *outbox) deliver(j *job) {
	adapter := o.adapters[j.out.To.Platform]
	for i := range j.row.Parts {
		for o.ctx.Err() == nil && o.step(adapter, j, i) {
		}
	}
}

// step makes one attempt at one part and reports whether another one is due.
func (o *outbox) step(adapter platforms.Adapter, j *job, i int) bool {
	p := j.row.Parts[i]
	if p.State != sessions.Queued && p.State != sessions.Sending {
		return false
	}
	if p.State == sessions.Queued {
		if !sleepUntil(o.ctx, p.NotBefore) {
			return false
		}
		p.State = sessions.Sending
		if !o.mark(j, i, p) {
			return false
		}
	}
	id, err := o.send(adapter, j, i)
	p = o.judge(p, id, err, j.out.Notice)
	if err != nil {
		o.log.Warn("an answer was not delivered", "row", j.row.ID, "part", i, "lane", j.row.Lane,
			"state", p.State, "attempts", p.Attempts, "error", err)
	}
	if p.State == sessions.Sending || !o.mark(j, i, p) {
		return false
	}
	if p.State == sessions.InDoubt {
		o.inDoubt(j)
	}
	return p.State == sessions.Queued
}

// send posts one part; a refused format is sent once more as plain text.
func (o *outbox) send(adapter platforms.Adapter, j *job, i int) (string, error) {
	out := platforms.Outgoing{
		Text: j.out.Pieces[i], Key: partKey(j.row.ID, i), Class: platforms.PriorityFinal,
	}
	if i == 0 {
		out.ReplyTo = j.out.ReplyTo
	}
	if i == len(j.out.Pieces)-1 {
		out.Buttons = j.out.Buttons
	}
	id, err := adapter.Send(o.ctx, j.out.To, out)
	if platforms.ClassOf(err) == platforms.BadFormat {
		o.log.Warn("the platform refused the formatting; sending plain text", "row", j.row.ID, "part", i, "error", err)
		out.Plain, out.Text = true, markup.Plain(out.Text)
		id, err = adapter.Send(o.ctx, j.out.To, out)
	}
	return id, err
}

// judge turns the result of an attempt into the part's next state. It stays "sending" if delivery was stopped in the
// middle of a call. A notice may stand twice, so one of unknown outcome is tried once more.
func (o *outbox) judge(p sessions.Part, id string, err error, notice bool) sessions.Part {
	p.Attempts++
	if err == nil {
		p.State, p.MessageID, p.Error = sessions.Sent, id, ""
		return p
	}
	p.Error = err.Error()
	switch platforms.ClassOf(err) {
	case platforms.OutcomeUnknown:
		switch {
		case o.ctx.Err() != nil:
		case notice && p.Attempts < 2:
			p.State, p.NotBefore = sessions.Queued, time.Now().Add(backoff(p.Attempts))
		case notice:
			p.State = sessions.Dead
		default:
			p.State = sessions.InDoubt
		}
	case platforms.RateLimited, platforms.Transient:
		p.State = sessions.Queued
		p.NotBefore = time.Now().Add(max(platforms.WaitOf(err), backoff(p.Attempts)))
		if p.Attempts >= sendAttempts {
			p.State = sessions.Dead
		}
	default:
		p.State = sessions.Dead
	}
	return p
}

// mark makes a part's new state durable and reports whether that worked.
func (o *outbox) mark(j *job, i int, to sessions.Part) bool {
	from := j.row.Parts[i].State
	_, err := o.store.Commit(context.WithoutCancel(o.ctx), sessions.Mark{Row: j.row.ID, Part: i, From: from, To: to})
	if err != nil {
		o.log.Error("the state of an answer could not be stored", "row", j.row.ID, "part", i, "to", to.State, "error", err)
		return false
	}
	j.row.Parts[i] = to
	return true
}

// inDoubt reports a row as it is now; the lane goes on changing it.
func (o *outbox) inDoubt(j *job) {
	row := j.row
	row.Parts = slices.Clone(row.Parts)
	o.doubt(row)
}

// partKey is the idempotency key of one part of a row.
func partKey(id sessions.RowID, part int) string {
	return string(id) + "-" + itoa(part)
}

// backoff is how long to wait after the n-th failure: doubling, capped, with jitter so that lanes do not march in step.
func backoff(n int) time.Duration {
	d := backoffLongest
	if n < 7 {
		d = min(backoffFirst<<(n-1), backoffLongest)
	}
	return d/2 + rand.N(d/2+1)
}

// sleepUntil waits for a time and reports whether it came before the context's end.
func sleepUntil(ctx context.Context, at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
