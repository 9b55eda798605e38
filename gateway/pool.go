package gateway

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// pool is the slots of the workers. A slot goes to whoever of those that wait has the fewest turns running, and among
// equals to them one after the other, so that somebody with many conversations delays another person by the turns that
// run already at most. Safe for use from any goroutine.
type pool struct {
	mu      sync.Mutex
	size    int
	free    int                        // below zero after the pool was made smaller, until enough have been released
	running map[string]int             // slots by person
	order   []string                   // persons for whom somebody waits, in the order in which they are served
	waiting map[string][]chan struct{} // by person, the oldest first; a slot is given by closing
}

func newPool(size int) *pool {
	return &pool{size: size, free: size, running: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// acquire waits for a slot for a person's turn. It returns the context's cause if that ends first, also if both happen.
func (p *pool) acquire(ctx context.Context, person string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.mu.Lock()
	if p.free > 0 {
		p.free--
		p.running[person]++
		p.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	if len(p.waiting[person]) == 0 {
		p.order = append(p.order, person)
	}
	p.waiting[person] = append(p.waiting[person], mine)
	p.mu.Unlock()
	select {
	case <-mine:
		if ctx.Err() == nil {
			return nil
		}
		p.release(person)
	case <-ctx.Done():
		p.withdraw(person, mine)
	}
	return context.Cause(ctx)
}

// withdraw stops waiting; a slot that was given in the same moment goes on to the next.
func (p *pool) withdraw(person string, mine chan struct{}) {
	p.mu.Lock()
	i := slices.Index(p.waiting[person], mine)
	if i >= 0 {
		p.waiting[person] = slices.Delete(p.waiting[person], i, i+1)
		if len(p.waiting[person]) == 0 {
			delete(p.waiting, person)
			p.order = slices.DeleteFunc(p.order, func(who string) bool { return who == person })
		}
	}
	p.mu.Unlock()
	if i < 0 {
		p.release(person)
	}
}

// release gives a person's slot to the oldest turn of whoever is served next, who then stands last. The turn that ends
// still counts as running then.
func (p *pool) release(person string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		if p.running[person]--; p.running[person] == 0 {
			delete(p.running, person)
		}
	}()
	if len(p.order) == 0 || p.free < 0 {
		p.free++
		return
	}
	p.give()
}

// resize changes the number of slots. Turns that run go on; if there are fewer slots than these, no turn gets one until
// enough have ended.
func (p *pool) resize(size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free += size - p.size
	p.size = size
	for p.free > 0 && len(p.order) > 0 {
		p.free--
		p.give()
	}
}

// give gives a slot to the oldest turn of whoever is served next. There must be somebody who waits; the lock is held.
func (p *pool) give() {
	next := slices.MinFunc(p.order, func(a, b string) int { return cmp.Compare(p.running[a], p.running[b]) })
	p.running[next]++
	close(p.waiting[next][0])
	p.waiting[next] = p.waiting[next][1:]
	p.order = slices.DeleteFunc(p.order, func(who string) bool { return who == next })
	if len(p.waiting[next]) > 0 {
		p.order = append(p.order, next)
	} else {
		delete(p.waiting, next)
	}
}
