package gateway

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// outbox delivers rows: one lane an address, in the order of their commits, one goroutine a lane while it has work. A
// lane that has to wait holds no other.
type outbox struct {
	store       sessions.Store
	adapters    map[platforms.Name]platforms.Adapter
	log         *slog.Logger
	undelivered func(sessions.Row, output)                                         // called when a part of a row will never be sent
	doubt       func(sessions.Key, sessions.RowID)                                 // called when nothing is left to do for a row but what is in doubt
	now         func(platforms.Address) platforms.Address                          // where something for an address has to be sent
	moved       func(ctx context.Context, from platforms.Address, to string) error // called when a chat turns out to have moved
	penalised   func(platforms.Address, time.Duration)                             // called when a platform makes an answer wait
	ownersHome  func(platforms.Address) error                                      // tells whether the owner may still be told there
	observe     func(Event)
	signed      func(*firstSign, platforms.Name) // called when an answer is there

	editing

	ctx   context.Context // ends when delivery must stop at once
	mu    sync.Mutex
	idle  *sync.Cond // a lane has ended, or rests
	lanes map[string]*lane
	owed  map[string]chan struct{} // by the id of a message: closed once its last edit, which a row holds, is out

	left      int       // rows that are left alone until another start
	leftSince time.Time // when the first of them was written, as far as that is known
}

type lane struct {
	jobs     []*job
	now      *job // the one that is being delivered
	reserved int  // prepared commits that have not come back yet
	running  bool
	rests    time.Time // it waits until then before its next attempt
}

func newOutbox(ctx context.Context, store sessions.Store, adapters map[platforms.Name]platforms.Adapter, log *slog.Logger) *outbox {
	o := &outbox{store: store, adapters: adapters, log: log, ctx: ctx, lanes: map[string]*lane{}, owed: map[string]chan struct{}{}}
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
		out.At = time.Now()
		payload, err := out.encode()
		if err != nil {
			o.release(b)
			return batch{}, err
		}
		if out.id == "" {
			out.id = sessions.RowID(newID())
		}
		row := sessions.Row{
			ID: out.id, Key: key, Lane: out.lane(), Payload: payload,
			Parts: make([]sessions.Part, len(out.Pieces)),
		}
		for i := range row.Parts {
			row.Parts[i].State = sessions.Queued
		}
		l := o.lanes[row.Lane]
		if l == nil {
			l = &lane{}
			o.lanes[row.Lane] = l
			row.Parts[0].State, row.Parts[0].First = sessions.Sending, time.Now()
		}
		l.reserved++
		b.rows = append(b.rows, row)
		b.jobs = append(b.jobs, &job{row: row, out: out, claimed: row.Parts[0].State == sessions.Sending})
	}
	return b, nil
}

// start hands committed rows to their lanes.
func (o *outbox) start(b batch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, j := range b.jobs {
		o.lanes[j.row.Lane].reserved--
		o.observe(RowQueued{Platform: j.out.To.Platform})
		o.push(j)
	}
}

// cancel gives the lanes back after a failed commit.
func (o *outbox) cancel(b batch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.release(b)
}

// stored tells whether the rows of a failed commit are in the store after all: a commit can fail without anybody knowing
// what became of it. It waits until the store can tell.
func (o *outbox) stored(ctx context.Context, b batch) bool {
	if len(b.rows) == 0 {
		return false
	}
	for n := 1; ; n++ {
		_, err := o.store.Row(ctx, b.rows[0].ID)
		if err == nil || errors.Is(err, sessions.ErrState) {
			return err == nil
		}
		if !sleepUntil(ctx, time.Now().Add(backoff(n))) {
			return false
		}
	}
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
	j.ctx, j.cancel = context.WithCancelCause(o.ctx)
	l.jobs = append(l.jobs, j)
	o.owe(j)
	if !l.running {
		l.running = true
		go o.run(j.row.Lane, l)
	}
}

// owe remembers that a closing row is not out yet; mu is held.
func (o *outbox) owe(j *job) {
	if j.out.Closing && o.owed[j.out.Shown[0]] == nil {
		o.owed[j.out.Shown[0]] = make(chan struct{})
	}
}

// paid says that a closing row is out, or never will be.
func (o *outbox) paid(j *job) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if done := o.owed[j.out.Shown[0]]; done != nil {
		close(done)
		delete(o.owed, j.out.Shown[0])
	}
}

// closed waits until nothing more is to be done to a message. It reports false if the context ended first.
func (o *outbox) closed(ctx context.Context, message string) bool {
	o.mu.Lock()
	done := o.owed[message]
	o.mu.Unlock()
	if done == nil {
		return true
	}
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// run delivers a lane's rows until none is left.
func (o *outbox) run(name string, l *lane) {
	for {
		o.mu.Lock()
		l.now = nil
		if len(l.jobs) == 0 || o.ctx.Err() != nil {
			l.running = false
			if l.reserved == 0 {
				delete(o.lanes, name)
			}
			o.idle.Broadcast()
			o.mu.Unlock()
			return
		}
		j := l.jobs[0]
		l.now, l.jobs = j, l.jobs[1:]
		o.mu.Unlock()
		o.deliver(j)
		j.cancel(nil)
	}
}

// flush waits until the context ends, or every lane is empty or has to wait for longer than that.
func (o *outbox) flush(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	o.wait(ctx, func(l *lane) bool { return l.rests.Before(deadline) })
}

// ended waits until no lane runs any more or the context ends.
func (o *outbox) ended(ctx context.Context) {
	o.wait(ctx, func(*lane) bool { return true })
}

// wait waits until no lane is left for which that is to be waited for, or the context ends.
func (o *outbox) wait(ctx context.Context, counts func(*lane) bool) {
	stop := context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.idle.Broadcast()
	})
	defer stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for ctx.Err() == nil {
		if left := slices.Collect(maps.Values(o.lanes)); !slices.ContainsFunc(left, counts) {
			return
		}
		o.idle.Wait()
	}
}

// rest keeps a job's lane waiting until a time. It reports false if delivery ends first.
func (o *outbox) rest(j *job, until time.Time) bool {
	note := func(until time.Time) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.lanes[j.row.Lane].rests = until
		o.idle.Broadcast()
	}
	if time.Now().Before(until) {
		note(until)
		defer note(time.Time{})
	}
	return sleepUntil(j.ctx, until)
}

// all returns what is on its way; mu is held.
func (o *outbox) all() iter.Seq[*job] {
	return func(yield func(*job) bool) {
		for _, l := range o.lanes {
			if l.now != nil && !yield(l.now) {
				return
			}
			for _, j := range l.jobs {
				if !yield(j) {
					return
				}
			}
		}
	}
}

// errErased is why a row is not delivered any more whose conversation was erased.
var errErased = errors.New("its conversation was erased")

// drop ends the delivery of what was erased with its conversation: it is not sent any more, and holds up nothing behind it.
func (o *outbox) drop(ctx context.Context, key sessions.Key) {
	var jobs []*job
	o.mu.Lock()
	for j := range o.all() {
		if j.row.Key == key {
			jobs = append(jobs, j)
		}
	}
	o.mu.Unlock()
	for _, j := range jobs {
		if _, err := o.store.Row(ctx, j.row.ID); errors.Is(err, sessions.ErrState) {
			j.cancel(errErased)
		}
	}
}

// recover returns what an earlier process left, for takeOver: what was queued goes on, what was being sent is looked
// into. It also counts the rows that wait and are left alone.
func (o *outbox) recover(ctx context.Context) (found []*job, left int, err error) {
	var since time.Time
	leave := func(row sessions.Row, at time.Time) {
		if state := StateOf(row); state == sessions.Queued || state == sessions.Sending {
			left++
			if since.IsZero() {
				since = at
			}
		}
	}
	for row, err := range o.store.Undelivered(ctx) {
		if err != nil {
			return nil, 0, err
		}
		out, err := decodeOutput(row)
		if err != nil { // it stays where it is, for a version that can read it
			o.log.Error("an answer cannot be read and is left alone", "row", row.ID, "lane", row.Lane, "error", err)
			leave(row, time.Time{})
			continue
		}
		if o.adapters[out.To.Platform] == nil {
			o.log.Warn("an answer waits for a platform that is not configured", "row", row.ID, "lane", row.Lane)
			leave(row, out.At)
			continue
		}
		found = append(found, &job{row: row, out: out})
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, j := range found {
		o.owe(j)
	}
	o.left, o.leftSince = left, since
	return found, left, nil
}

// takeOver counts the attempt in which the earlier process ended, and queues the row.
func (o *outbox) takeOver(j *job) {
	for i := range j.row.Parts {
		if p := &j.row.Parts[i]; p.State == sessions.Sending {
			p.Attempts++
			p.Error = "the program stopped while it was being sent"
			j.lost = true
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.push(j)
}

// endDoubts gives up the parts that are in doubt since before then, because nobody has asked for them again.
func (o *outbox) endDoubts(ctx context.Context, before time.Time) error {
	for row, err := range o.store.Undelivered(ctx) {
		if err != nil {
			return err
		}
		for i, p := range row.Parts {
			if p.State != sessions.InDoubt || !p.First.Before(before) {
				continue
			}
			p.State, p.Error = sessions.Dead, "nobody could tell whether it was posted, and nobody asked for it again"
			m := sessions.Mark{Row: row.ID, Part: i, From: sessions.InDoubt, To: p}
			if _, err := o.store.Commit(ctx, m); err != nil && !errors.Is(err, sessions.ErrState) {
				return err
			}
		}
	}
	return nil
}

// again queues what is in doubt of a row once more. It reports false if nothing is.
func (o *outbox) again(ctx context.Context, id sessions.RowID) (bool, error) {
	row, err := o.store.Row(ctx, id)
	if err != nil {
		return false, err
	}
	out, err := decodeOutput(row)
	if err != nil {
		return false, err
	}
	j, some := &job{row: row, out: out}, false
	for i, p := range row.Parts {
		if p.State == sessions.InDoubt {
			p.State, p.First, p.Resent = sessions.Queued, time.Time{}, false
			some = o.mark(ctx, j, i, p) || some
		}
	}
	if some {
		o.observe(RowQueued{Platform: out.To.Platform})
		o.mu.Lock()
		defer o.mu.Unlock()
		o.push(j)
	}
	return some, context.Cause(ctx)
}
