package loop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Link is one model of a Chain.
type Link struct {
	Model   Model
	Profile Profile // for what its calls cost; zero = not known
	// Reload reads the credentials again and returns the model that uses them; nil = they are fixed. It is called after
	// the provider has refused the old ones.
	Reload func(ctx context.Context) (Model, error)
}

// Chain is a Model that is made of several, in the order of preference. A model that had to be given up is passed over
// for a while, so that the next turns begin with the one that works; then it is tried again.
//
// A turn of the loop walks the chain step by step, with retries in between. Call is for everything else: it goes on to
// the next model at once. A Chain starts no goroutine and may be used from any.
type Chain struct {
	// Observe, if not nil, is told about every call that was made, whoever made it. It is set before the first call, must
	// not block, and is called from the goroutines of the callers.
	Observe func(Called)

	mu      sync.Mutex
	links   []Link
	resting []time.Time // by link: passed over until then
}

// NewChain returns a chain. It needs at least one link.
func NewChain(links ...Link) *Chain {
	return &Chain{links: append([]Link(nil), links...), resting: make([]time.Time, len(links))}
}

// Name returns the name of the model that would be asked now.
func (c *Chain) Name() string { return c.start().name() }

// Call implements Model.
func (c *Chain) Call(ctx context.Context, req Request, onText func(string)) (Reply, error) {
	reply, _, err := c.call(ctx, req, 0, onText)
	return reply, err
}

// errSlow: a model did not answer in the time that it was given.
var errSlow = &ModelError{Class: ModelNetwork, Err: errors.New("it took too long to answer")}

// call is Call with a timeout for each model (0 = none). It returns the profile of the one that answered, too.
func (c *Chain) call(ctx context.Context, req Request, timeout time.Duration, onText func(string)) (Reply, Profile, error) {
	for r := c.start(); ; {
		reply, err := r.call(ctx, req, timeout, onText)
		if err == nil || ctx.Err() != nil {
			return reply, r.profile(), err
		}
		do := policy[ModelClass(err)]
		switch {
		case do.reload && r.reload(ctx) == nil:
		case do.next && r.next(err):
		default:
			return Reply{}, Profile{}, err
		}
	}
}

func (r *route) call(ctx context.Context, req Request, timeout time.Duration, onText func(string)) (Reply, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errSlow)
		defer cancel()
	}
	return r.model().Call(ctx, req, onText)
}

// chainOf returns a model as a chain, of one link if it is none.
func chainOf(m Model) *Chain {
	if c, ok := m.(*Chain); ok {
		return c
	}
	return NewChain(Link{Model: m})
}

// route is one walk along a chain. It belongs to one goroutine.
type route struct {
	chain    *Chain
	at       int
	tried    map[int]bool
	reloaded map[int]bool
}

// start begins at the first model that does not rest, or at the one that has rested longest.
func (c *Chain) start() *route {
	c.mu.Lock()
	defer c.mu.Unlock()
	best, now := 0, time.Now()
	for i, until := range c.resting {
		if !until.After(now) {
			best = i
			break
		}
		if until.Before(c.resting[best]) {
			best = i
		}
	}
	return &route{chain: c, at: best, tried: map[int]bool{best: true}, reloaded: map[int]bool{}}
}

// model returns the current model. What a chain within the chain asks, that one tells its own observer.
func (r *route) model() Model {
	r.chain.mu.Lock()
	defer r.chain.mu.Unlock()
	link := r.chain.links[r.at]
	if _, nested := link.Model.(*Chain); nested || r.chain.Observe == nil {
		return link.Model
	}
	return watched{link.Model, link.Profile, r.chain.Observe}
}

func (r *route) name() string { return r.model().Name() }

func (r *route) profile() Profile { return r.chain.links[r.at].Profile } // which never changes

// errFixed: there are no other credentials to be had.
var errFixed = errors.New("the credentials are fixed or have been loaded again already")

// reload loads the credentials of the current model again, once.
func (r *route) reload(ctx context.Context) error {
	r.chain.mu.Lock()
	load := r.chain.links[r.at].Reload
	r.chain.mu.Unlock()
	if load == nil || r.reloaded[r.at] {
		return errFixed
	}
	r.reloaded[r.at] = true
	m, err := load(ctx)
	if err != nil {
		return fmt.Errorf("reload credentials: %w", err)
	}
	r.chain.mu.Lock()
	defer r.chain.mu.Unlock()
	r.chain.links[r.at].Model = m
	return nil
}

// next gives the current model up because of an error and moves to the next one that was not tried, one that does not
// rest if there is any. It reports whether there is one.
func (r *route) next(err error) bool {
	c := r.chain
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	var rest time.Duration // an empty reply is no reason to pass a model over in other turns
	if err != nil {
		rest = policy[ModelClass(err)].rest
	}
	var e *ModelError
	if errors.As(err, &e) && rest > 0 {
		rest = max(rest, e.Wait)
	}
	if until := now.Add(rest); until.After(c.resting[r.at]) {
		c.resting[r.at] = until
	}
	best := -1
	for i := range c.links {
		if r.tried[i] {
			continue
		}
		if best < 0 {
			best = i
		}
		if !c.resting[i].After(now) {
			best = i
			break
		}
	}
	if best < 0 {
		return false
	}
	r.at, r.tried[best] = best, true
	return true
}
