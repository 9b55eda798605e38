package platforms

import (
	"container/heap"
	"context"
	"errors"
	"sync"
	"time"
)

// Priority orders calls that wait for the same limit; the lower value goes first.
type Priority int

const (
	PriorityFinal    Priority = iota // answers; the zero value, so that a forgotten class is never a late answer
	PriorityAck                      // acknowledgements of events: before everything, and not held by a chat's freeze
	PriorityApproval                 // questions that a person waits for
	PriorityProgress                 // bubble edits
	PriorityTyping
	PriorityLookup // identity, history
)

// rank gives the order in which waiting calls go.
func (p Priority) rank() int {
	switch p {
	case PriorityAck:
		return 0
	case PriorityFinal:
		return 1
	default:
		return int(p)
	}
}

// Limit is one limit class of a platform: at most Burst calls at once, refilled at one per Every. The zero Limit
// does not limit, so that a class can exist only to be frozen.
type Limit struct {
	Every time.Duration
	Burst int
}

// Permit names what one HTTP request falls under.
type Permit struct {
	Priority Priority
	Classes  []string // names of limit classes: the account, the chat, the method ...
}

// Pacer is the one rate scheduler of an account: an adapter takes a permit from it before every HTTP request. A class
// comes into being when it is first named, with the limit that limitOf gives it, and is forgotten once it is full
// again and nobody waits. Waiting calls go by priority, then by arrival. Freeze stops a class until the platform's
// wait is over; acks pass a freeze. All methods may be called from any goroutine; the Pacer starts none but timers.
type Pacer struct {
	limitOf func(class string) Limit

	mu      sync.Mutex
	classes map[string]*pace
	waiting waiters
	arrival uint64
	timer   *time.Timer
	freezes uint64
}

// Pace says how a platform's rate limits hold us back.
type Pace struct {
	Freezes uint64 // how often it told us to wait
	Waiting int    // calls that wait for a permit
}

// pace is the state of one class: a bucket kept as "the time at which it will be full" (GCRA), and a freeze.
type pace struct {
	limit  Limit
	tat    time.Time // theoretical arrival time of the next call if calls came evenly
	frozen time.Time // no calls before this
}

// NewPacer makes a Pacer whose classes get their limits from limitOf, which must be pure.
func NewPacer(limitOf func(class string) Limit) *Pacer {
	return &Pacer{limitOf: limitOf, classes: map[string]*pace{}}
}

// droppedKey is the context key of Droppable.
type droppedKey struct{}

// ErrDropped is why a call was not made: see Droppable.
var ErrDropped = errors.New("not wanted any more before it could begin")

// Droppable is for calls that are worthless once over is closed, such as the edit of a text that is about to change for
// good: one that still waits for its permit fails then, with nothing done; one that is under way goes on.
func Droppable(ctx context.Context, over <-chan struct{}) context.Context {
	return context.WithValue(ctx, droppedKey{}, over)
}

// Dropped returns the channel that is closed once calls with this context are worthless, nil if they never are.
func Dropped(ctx context.Context) <-chan struct{} {
	over, _ := ctx.Value(droppedKey{}).(<-chan struct{})
	return over
}

// Take blocks until the permit is given, the context ends, or the call is dropped (see Droppable).
func (p *Pacer) Take(ctx context.Context, permit Permit) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	over := Dropped(ctx)
	p.mu.Lock()
	w := &waiter{permit: permit, arrival: p.arrival, ready: make(chan struct{})}
	p.arrival++
	heap.Push(&p.waiting, w)
	p.dispatch(time.Now())
	p.mu.Unlock()
	select {
	case <-w.ready: // a call that need not wait is never dropped
		return nil
	default:
	}
	var err error
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-over:
		err = ErrDropped
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.index >= 0 {
		heap.Remove(&p.waiting, w.index)
	}
	return err
}

// Try takes the permit only if it is free now: for edits and typing, which are better dropped than late.
func (p *Pacer) Try(permit Permit) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.readyAt(permit, now).After(now) {
		return false
	}
	p.spend(permit, now)
	return true
}

// Freeze stops a class until the given time; a later freeze never shortens an earlier one.
func (p *Pacer) Freeze(class string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freezes++
	c := p.class(class)
	if until.After(c.frozen) {
		c.frozen = until
	}
	p.dispatch(time.Now())
}

// Pace says how calls are held back at the moment.
func (p *Pacer) Pace() Pace {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Pace{Freezes: p.freezes, Waiting: p.waiting.Len()}
}

// Frozen returns until when a class is stopped, the zero time if it is not.
func (p *Pacer) Frozen(class string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.classes[class]; c != nil && c.frozen.After(time.Now()) {
		return c.frozen
	}
	return time.Time{}
}

func (p *Pacer) class(name string) *pace {
	c := p.classes[name]
	if c == nil {
		c = &pace{limit: p.limitOf(name)}
		p.classes[name] = c
	}
	return c
}

// readyAt returns the earliest time at which the permit's classes all allow a call.
func (p *Pacer) readyAt(permit Permit, now time.Time) time.Time {
	at := now
	for _, name := range permit.Classes {
		c := p.class(name)
		if permit.Priority != PriorityAck && c.frozen.After(at) {
			at = c.frozen
		}
		if l := c.limit; l.Every > 0 {
			burst := max(l.Burst, 1)
			if permit.Priority >= PriorityProgress && burst > 1 {
				burst-- // what can wait leaves one call to what cannot
			}
			if t := c.tat.Add(-time.Duration(burst-1) * l.Every); t.After(at) {
				at = t
			}
		}
	}
	return at
}

func (p *Pacer) spend(permit Permit, now time.Time) {
	for _, name := range permit.Classes {
		c := p.class(name)
		if c.limit.Every > 0 {
			if c.tat.Before(now) {
				c.tat = now
			}
			c.tat = c.tat.Add(c.limit.Every)
		}
	}
}

// dispatch gives permits to all waiters that may go now, best first, and sets the timer for the next. A waiter that is
// held by its own chat does not hold those behind it, except that a later one may not take what an earlier one waits
// for: its classes are reserved.
func (p *Pacer) dispatch(now time.Time) {
	var held waiters
	reserved := map[string]bool{}
	var next time.Time
	for p.waiting.Len() > 0 {
		w := heap.Pop(&p.waiting).(*waiter)
		at := p.readyAt(w.permit, now)
		if at.After(now) || overlaps(reserved, w.permit.Classes) {
			p.reserve(reserved, w.permit, now)
			if at.After(now) && (next.IsZero() || at.Before(next)) {
				next = at
			}
			held = append(held, w)
			continue
		}
		p.spend(w.permit, now)
		close(w.ready)
	}
	for _, w := range held {
		heap.Push(&p.waiting, w)
	}
	p.forget(now)
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if !next.IsZero() {
		p.timer = time.AfterFunc(next.Sub(now), func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.dispatch(time.Now())
		})
	}
}

// reserve marks the classes that hold a waiter, so that a later, less urgent call cannot starve it. Classes that are
// free are not reserved: a frozen chat must not stop the account.
func (p *Pacer) reserve(reserved map[string]bool, permit Permit, now time.Time) {
	for _, name := range permit.Classes {
		one := Permit{Priority: permit.Priority, Classes: []string{name}}
		if p.readyAt(one, now).After(now) {
			reserved[name] = true
		}
	}
}

func overlaps(reserved map[string]bool, classes []string) bool {
	for _, name := range classes {
		if reserved[name] {
			return true
		}
	}
	return false
}

// forget drops classes that are full and free and that nobody waits for, so that sleeping chats cost no memory.
func (p *Pacer) forget(now time.Time) {
	if len(p.classes) < 256 {
		return
	}
	for name, c := range p.classes {
		if !c.tat.After(now) && !c.frozen.After(now) {
			delete(p.classes, name)
		}
	}
}

// waiter is one call that waits for its permit; index is its place in the heap, -1 once it is out.
type waiter struct {
	permit  Permit
	arrival uint64
	ready   chan struct{}
	index   int
}

// waiters is a heap by priority, then arrival.
type waiters []*waiter

func (w waiters) Len() int { return len(w) }

func (w waiters) Less(i, j int) bool {
	a, b := w[i].permit.Priority.rank(), w[j].permit.Priority.rank()
	if a != b {
		return a < b
	}
	return w[i].arrival < w[j].arrival
}

func (w waiters) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].index, w[j].index = i, j
}

func (w *waiters) Push(x any) {
	e := x.(*waiter)
	e.index = len(*w)
	*w = append(*w, e)
}

func (w *waiters) Pop() any {
	old := *w
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*w = old[:len(old)-1]
	e.index = -1
	return e
}
