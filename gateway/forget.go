package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// Forgotten says what became of a person's conversations.
type Forgotten struct {
	Keys []sessions.Key `json:"keys,omitempty"` // erased
	// Shared are conversations that hold words of other people, too. They stay.
	Shared []sessions.Key `json:"shared,omitempty"`
}

// Forget removes the conversations that a person ("platform:id") alone has had, his jobs, all notes about him, and what he was
// allowed in the conversations that others share; what he said there stays. It fails with ErrBusy if something runs or
// waits in a conversation of his; what was erased before stays erased.
func (e *Eraser) Forget(ctx context.Context, person string) (f Forgotten, err error) {
	platform, id, ok := strings.Cut(person, ":")
	if !ok || platform == "" || id == "" {
		return f, fmt.Errorf("%q is not a person: write platform:id, as in telegram:123456", person)
	}
	if err := e.intend(ctx, func(i *intents) { i.People = with(i.People, person) }); err != nil {
		return f, err
	}
	jobs := e.plans
	if jobs == nil {
		jobs = newPlans(e.Store)
	}
	if err := jobs.forget(ctx, platform, id); err != nil { // before one of them begins a conversation anew
		return f, err
	}
	own, shared, err := e.of(ctx, platform, id)
	f.Shared = shared
	for _, key := range own {
		if err == nil {
			err = e.Delete(ctx, key)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", key, err)
			break
		}
		f.Keys = append(f.Keys, key)
	}
	if err == nil && e.Notes != nil {
		err = e.Notes.Forget(platform, id)
	}
	for _, key := range shared {
		if err == nil {
			err = e.disown(ctx, key, id)
		}
	}
	if err != nil && ctx.Err() == nil { // whoever asked is told, and asks again
		_ = e.intend(ctx, func(i *intents) { i.People = without(i.People, person) })
		return f, err
	}
	if err != nil {
		return f, err
	}
	return f, e.intend(ctx, func(i *intents) { i.People = without(i.People, person) })
}

// of returns the conversations in which a person has talked to us, alone or among others.
func (e *Eraser) of(ctx context.Context, platform, id string) (own, shared []sessions.Key, err error) {
	people := map[sessions.Key]map[string]bool{}
	note := func(key sessions.Key, who string) {
		if people[key] == nil {
			people[key] = map[string]bool{}
		}
		people[key][who] = true
	}
	for key, err := range e.Store.Keys(ctx) {
		if err != nil {
			return nil, nil, err
		}
		p, ok := takeApart(key)
		switch {
		case !ok || p.platform != platform:
			continue
		case p.user != "":
			note(key, p.user)
			continue
		case p.kind == string(platforms.Direct) && p.chat == id:
			note(key, id)
		}
		for r, err := range e.Store.History(ctx, key, 0) {
			if err != nil {
				return nil, nil, err
			}
			for _, entry := range r.Entries {
				if s, ok := entry.(sessions.TurnStarted); ok {
					note(key, s.Requester)
				}
			}
		}
	}
	for item, err := range e.Store.Pending(ctx) {
		if err != nil {
			return nil, nil, err
		}
		if in, err := decodeInput(item.Item); err == nil && strings.HasPrefix(string(item.Key), platform+"/") {
			note(item.Key, in.origin().Sender.ID)
		}
	}
	for key, who := range people {
		switch {
		case !who[id]:
		case len(who) == 1:
			own = append(own, key)
		default:
			shared = append(shared, key)
		}
	}
	slices.Sort(own)
	slices.Sort(shared)
	return own, shared, nil
}

// disown takes back what a person was allowed in a conversation that stays, and what is noted about him there.
func (e *Eraser) disown(ctx context.Context, key sessions.Key, person string) error {
	if e.awake != nil {
		return e.awake(ctx, key, person)
	}
	c, err := e.Store.Acquire(ctx, key, newID())
	if err != nil {
		return err
	}
	s, err := sessions.Fold(key, c.Records)
	if err == nil {
		if entries := disowning(s, person); len(entries) > 0 {
			r := sessions.Record{At: time.Now(), Entries: entries}
			_, err = e.Store.Commit(ctx, sessions.Append{Lease: c.Lease, After: c.Revision, Record: r})
		}
	}
	return errors.Join(err, e.Store.Release(context.WithoutCancel(ctx), c.Lease))
}

// disowning returns the entries after which a session holds no permission of a person and no notes about him. Without
// them the log would bring the notes' file back.
func disowning(s *sessions.Session, person string) (entries []sessions.Entry) {
	for _, a := range s.Approvals {
		if a.For == person {
			entries = append(entries, sessions.Revoked{Rule: a.Rule, For: person, By: "forget", At: time.Now()})
		}
	}
	for _, n := range s.Notes {
		if n.Content != "" && strings.HasSuffix(n.Owner, "/"+person) {
			entries = append(entries, sessions.NotesChanged{Owner: n.Owner, Target: n.Target, At: time.Now()})
		}
	}
	return entries
}

// erasing is mail: the conversation is to be erased or, if a person is named, only what is his there.
type erasing struct {
	person string
	done   chan<- error
}

// eraseAwake has a conversation's actor erase it, or what is a person's there.
func (g *Gateway) eraseAwake(ctx context.Context, key sessions.Key, person string) error {
	done := make(chan error, 1)
	g.live.post(key, erasing{person, done})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-g.ctx.Done():
		return context.Cause(g.ctx)
	}
}

// disown writes down that a person has nothing here any more.
func (c *conversation) disown(ctx context.Context, person string) error {
	if c.torn {
		return ErrBusy
	}
	entries := disowning(c.log.snapshot(), person)
	if len(entries) == 0 {
		return nil
	}
	return c.commit(ctx, sessions.Record{Entries: entries})
}

// erase removes the conversation if nothing runs or waits in it, and begins anew.
func (c *conversation) erase(ctx context.Context) error {
	if !c.idle() || c.torn {
		return ErrBusy
	}
	err := c.g.newEraser().conversation(ctx, c.log.lease)
	c.g.outbox.drop(ctx, c.key)
	clear(c.known)
	if opened := c.load(ctx); opened != nil {
		c.g.log.Error("an erased conversation could not be opened anew", "conversation", c.key, "error", opened)
		c.torn = true
	}
	return err
}

// newEraser returns an eraser that works as if nobody was awake.
func (g *Gateway) newEraser() *Eraser {
	e := g.parts.Eraser
	e.Store, e.WorkRoot = g.store, g.now().WorkRoot
	if g.now().Workspace != "" {
		e.WorkRoot = ""
	}
	return &e
}

// Eraser returns what removes conversations while the gateway runs, when it does.
func (g *Gateway) Eraser(ctx context.Context) (*Eraser, error) {
	select {
	case <-g.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	e := g.newEraser()
	e.awake, e.plans = g.eraseAwake, g.plans
	return e, nil
}
