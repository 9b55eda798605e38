package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// movesName is the value of the store that holds which chat has become which.
const movesName = "moved chats"

// moves knows the chats that have become other ones, as Telegram's groups do when they grow. Such a chat keeps the keys
// and the permissions of its first id, so that everybody's conversation in it goes on with whatever waits there, by one
// commit; only what is sent goes to its last id. Safe for use from any goroutine.
type moves struct {
	store sessions.Store

	mu     sync.Mutex
	stored []byte
	all    []move
}

// move is one chat that has become another.
type move struct {
	From platforms.Address `json:"from"`
	To   string            `json:"to"`
}

// load reads what is known.
func (m *moves) load(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read(ctx)
}

// read is load; mu is held.
func (m *moves) read(ctx context.Context) error {
	stored, err := m.store.Value(ctx, movesName)
	if err != nil {
		return fmt.Errorf("read which chats have moved: %w", err)
	}
	var all []move
	if len(stored) > 0 {
		if err := json.Unmarshal(stored, &all); err != nil {
			return fmt.Errorf("read which chats have moved: %w", err)
		}
	}
	m.stored, m.all = stored, all
	return nil
}

// add makes a move durable, unless it is known.
func (m *moves) add(ctx context.Context, from platforms.Address, to string) error {
	from.Thread = ""
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		if slices.Contains(m.all, move{from, to}) || from.Chat == to {
			return nil
		}
		value, err := json.Marshal(append(slices.Clone(m.all), move{from, to}))
		if err != nil {
			return err
		}
		_, err = m.store.Commit(context.WithoutCancel(ctx), sessions.Set{Name: movesName, Was: m.stored, Value: value})
		if err == nil || errors.Is(err, sessions.ErrState) { // another process may have written before
			err = m.read(ctx)
		}
		if err != nil {
			return fmt.Errorf("remember that a chat has moved: %w", err)
		}
	}
}

// now is where something for an address has to be sent.
func (m *moves) now(a platforms.Address) platforms.Address {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, step := range m.all { // in the order in which they happened
		if whole(a) == step.From {
			a.Chat = step.To
		}
	}
	return a
}

// first is an address in the chat's first id.
func (m *moves) first(a platforms.Address) platforms.Address {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, step := range slices.Backward(m.all) {
		before := a
		before.Chat = step.From.Chat
		if a.Chat == step.To && whole(before) == step.From {
			a = before
		}
	}
	return a
}

// origin is an origin with the first id of its chat.
func (m *moves) origin(o platforms.Origin) platforms.Origin {
	o.Address = m.first(o.Address)
	return o
}

// whole is an address without its thread.
func whole(a platforms.Address) platforms.Address {
	a.Thread = ""
	return a
}

// key returns the session key of an update.
func (g *Gateway) key(o platforms.Origin) sessions.Key { return g.rules().key(o) }

// admit decides whether somebody may cause anything.
func (g *Gateway) admit(o platforms.Origin) Decision { return g.rules().admit(o) }

// migrated takes the news that a chat has become another one. Only one that people may use is remembered.
func (g *Gateway) migrated(ctx context.Context, from platforms.Address, to string) error {
	chats := g.now().Access.Chats[from.Platform]
	if !contains(chats, from.Chat) && !contains(chats, g.moves.first(from).Chat) {
		return nil
	}
	g.log.Info("a chat has moved; its conversations go on", "platform", from.Platform, "chat", from.Chat, "to", to)
	return g.moves.add(ctx, from, to)
}
