package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/gateway/schedule"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// plan is a job: something that runs by itself, in the name of whoever made it.
type plan struct {
	Number   int               `json:"number"` // what people call it by; never used again
	Change   int               `json:"change"` // counts changes, so that the newest is known
	Title    string            `json:"title"`
	Prompt   string            `json:"prompt"`
	When     schedule.Schedule `json:"when"`
	Origin   platforms.Origin  `json:"origin"`       // who made it where
	To       *platforms.Origin `json:"to,omitempty"` // where its answers go; nil = to where it was made
	Toolsets []string          `json:"toolsets,omitempty"`
	MaxTurns int               `json:"max_turns,omitempty"`
	Made     time.Time         `json:"made"`
	Cause    string            `json:"cause"`            // the call or command that made it
	Last     time.Time         `json:"last"`             // what was due until then has been dealt with
	Paused   string            `json:"paused,omitempty"` // why it does not run; empty = it does
}

// person names who made it, over all platforms.
func (p *plan) person() string { return string(p.Origin.Address.Platform) + ":" + p.Origin.Sender.ID }

// next returns when it is due next, false if it is not.
func (p *plan) next() (time.Time, bool) {
	if p.Paused != "" {
		return time.Time{}, false
	}
	return p.When.Next(p.Last)
}

// plansName is the value of the store that lists the jobs; each has one of its own.
const plansName = "jobs"

func planName(number int) string { return fmt.Sprintf("job %d", number) }

// plansJSON is the list of the jobs.
type plansJSON struct {
	Given   int   `json:"given"` // the highest number that was given
	Numbers []int `json:"numbers,omitempty"`
}

// plans knows all jobs. The store has them; what is in memory is for finding them. Safe for use from any goroutine.
type plans struct {
	store   sessions.Store
	changed chan struct{} // says that the next job due may be another one

	mu  sync.Mutex
	all map[int]plan
}

func newPlans(store sessions.Store) *plans {
	return &plans{store: store, changed: make(chan struct{}, 1), all: map[int]plan{}}
}

// load reads all jobs.
func (p *plans) load(ctx context.Context) error {
	_, list, err := p.index(ctx)
	if err != nil {
		return err
	}
	for _, number := range list.Numbers {
		if _, _, err := p.read(ctx, number); err != nil {
			return err
		}
	}
	return nil
}

func (p *plans) index(ctx context.Context) (stored []byte, list plansJSON, err error) {
	stored, err = p.store.Value(ctx, plansName)
	if err == nil && len(stored) > 0 {
		err = json.Unmarshal(stored, &list)
	}
	if err != nil {
		return nil, list, fmt.Errorf("read the list of jobs: %w", err)
	}
	return stored, list, nil
}

// list changes the list of the jobs.
func (p *plans) list(ctx context.Context, change func(*plansJSON)) error {
	for {
		stored, list, err := p.index(ctx)
		if err != nil {
			return err
		}
		change(&list)
		value, err := json.Marshal(list)
		if err != nil {
			return err
		}
		_, err = p.store.Commit(context.WithoutCancel(ctx), sessions.Set{Name: plansName, Was: stored, Value: value})
		if !errors.Is(err, sessions.ErrState) { // somebody else has changed it meanwhile
			return err
		}
	}
}

// read reads a job as the store has it, nil if it has none.
func (p *plans) read(ctx context.Context, number int) (stored []byte, job *plan, err error) {
	stored, err = p.store.Value(ctx, planName(number))
	if err == nil && len(stored) > 0 {
		err = json.Unmarshal(stored, &job)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read job %d: %w", number, err)
	}
	p.keep(number, job)
	return stored, job, nil
}

// keep takes a job over into memory, unless a newer state of it is there.
func (p *plans) keep(number int, job *plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch known, ok := p.all[number]; {
	case job == nil:
		delete(p.all, number)
	case !ok || known.Change < job.Change:
		p.all[number] = *job
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// add makes a job durable and gives it its number.
func (p *plans) add(ctx context.Context, job plan) (plan, error) {
	err := p.list(ctx, func(l *plansJSON) {
		l.Given++
		job.Number = l.Given
		l.Numbers = append(l.Numbers, job.Number)
	})
	if err == nil {
		err = p.write(ctx, nil, &job)
	}
	if err != nil {
		return plan{}, fmt.Errorf("make a job: %w", err)
	}
	return job, nil
}

func (p *plans) write(ctx context.Context, was []byte, job *plan) error {
	job.Change++
	value, err := json.Marshal(job)
	if err != nil {
		return err
	}
	if _, err := p.store.Commit(context.WithoutCancel(ctx), sessions.Set{Name: planName(job.Number), Was: was, Value: value}); err != nil {
		return err
	}
	p.keep(job.Number, job)
	return nil
}

// change changes a job. It returns the job as it is then, nil if there is none.
func (p *plans) change(ctx context.Context, number int, change func(*plan)) (*plan, error) {
	for {
		stored, job, err := p.read(ctx, number)
		if err != nil || job == nil {
			return nil, err
		}
		change(job)
		if err = p.write(ctx, stored, job); err == nil {
			return job, nil
		}
		if !errors.Is(err, sessions.ErrState) {
			return nil, fmt.Errorf("change job %d: %w", number, err)
		}
	}
}

// pause stops a job from running, and says why.
func (p *plans) pause(ctx context.Context, number int, why string) (*plan, error) {
	return p.change(ctx, number, func(job *plan) { job.Paused = why })
}

// remove removes a job. To remove what is not there is harmless.
func (p *plans) remove(ctx context.Context, number int) error {
	for {
		stored, job, err := p.read(ctx, number)
		if err == nil && job != nil {
			_, err = p.store.Commit(context.WithoutCancel(ctx), sessions.Set{Name: planName(number), Was: stored})
		}
		if errors.Is(err, sessions.ErrState) {
			continue
		}
		if err == nil {
			err = p.list(ctx, func(l *plansJSON) { l.Numbers = slices.DeleteFunc(l.Numbers, func(n int) bool { return n == number }) })
		}
		if err != nil {
			return fmt.Errorf("remove job %d: %w", number, err)
		}
		p.keep(number, nil)
		return nil
	}
}

// forget removes all jobs of a person.
func (p *plans) forget(ctx context.Context, platform, id string) error {
	if err := p.load(ctx); err != nil {
		return err
	}
	for _, job := range p.of(func(job *plan) bool { return job.person() == platform+":"+id }) {
		if err := p.remove(ctx, job.Number); err != nil {
			return err
		}
	}
	return nil
}

// of returns the jobs that somebody wants, in the order of their numbers.
func (p *plans) of(want func(*plan) bool) (some []plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, job := range p.all {
		if want(&job) {
			some = append(some, job)
		}
	}
	slices.SortFunc(some, func(a, b plan) int { return cmp.Compare(a.Number, b.Number) })
	return some
}

// due returns when the next job is due, and those that are due at a moment. Jobs of platforms that are not there wait.
func (p *plans) due(now time.Time, there func(platforms.Name) bool) (next time.Time, due []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, number := range slices.Sorted(maps.Keys(p.all)) {
		job := p.all[number]
		at, ok := job.next()
		switch {
		case !ok || !there(job.Origin.Address.Platform):
		case !at.After(now):
			due = append(due, number)
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return next, due
}

// String describes a job for people, on one line.
func (p *plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Job %d** · %s · %s", p.Number, p.Title, p.When)
	if p.To != nil {
		fmt.Fprintf(&b, " · to `%s`", placeOf(p.To.Address))
	}
	next, ok := p.next()
	switch {
	case p.Paused != "":
		fmt.Fprintf(&b, " · paused: %s", p.Paused)
	case ok && p.When.Recurs():
		fmt.Fprintf(&b, " · next %s", p.When.Show(next))
	}
	return b.String()
}

// placeOf names an address as the config does.
func placeOf(a platforms.Address) string {
	if a.Thread == "" {
		return a.Places()[1]
	}
	return a.Places()[0]
}
