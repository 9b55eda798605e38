package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// Forgotten says what became of a person's conversations.
type Forgotten struct {
	Keys []sessions.Key `json:"keys,omitempty"` // erased
	// Shared are conversations that hold words of other people, too. They stay.
	Shared []sessions.Key `json:"shared,omitempty"`
}

// Forget removes the conversations that a person ("platform:id") alone has had, and all notes about him. It fails with
// ErrBusy if something runs or waits in one of them; what was erased before stays erased.
func (e *Eraser) Forget(ctx context.Context, person string) (f Forgotten, err error) {
	platform, id, ok := strings.Cut(person, ":")
	if !ok || platform == "" || id == "" {
		return f, fmt.Errorf("%q is not a person: write platform:id, as in telegram:123456", person)
	}
	if err := e.intend(ctx, func(i *intents) { i.People = with(i.People, person) }); err != nil {
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

// erasing is mail: the conversation is to be erased.
type erasing struct{ done chan<- error }

// eraseAwake has a conversation's actor erase it.
func (g *Gateway) eraseAwake(ctx context.Context, key sessions.Key) error {
	done := make(chan error, 1)
	g.live.post(key, erasing{done})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-g.ctx.Done():
		return context.Cause(g.ctx)
	}
}

// erase removes the conversation if nothing runs or waits in it, and begins anew.
func (c *conversation) erase(ctx context.Context) error {
	if !c.idle() || c.torn {
		return ErrBusy
	}
	err := c.g.newEraser().conversation(ctx, c.log.lease)
	clear(c.known)
	if opened := c.load(ctx); opened != nil {
		c.g.log.Error("an erased conversation could not be opened anew", "conversation", c.key, "error", opened)
		c.torn = true
	}
	return err
}

// newEraser returns an eraser that works as if nobody was awake.
func (g *Gateway) newEraser() *Eraser {
	e := &Eraser{Store: g.store, WorkRoot: g.cfg.WorkRoot}
	if g.cfg.Workspace != "" {
		e.WorkRoot = ""
	}
	if n, ok := g.parts.Notes.(NotesEraser); ok {
		e.Notes = n
	}
	if r, ok := g.parts.Recorder.(interface{ Forget(key sessions.Key) error }); ok {
		e.Recorded = r
	}
	return e
}

// Eraser returns what removes conversations while the gateway runs, when it does.
func (g *Gateway) Eraser(ctx context.Context) (*Eraser, error) {
	select {
	case <-g.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	e := g.newEraser()
	e.erase = g.eraseAwake
	return e, nil
}
