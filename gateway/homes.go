package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// homesName is the value of the store that holds what admins have said about homes.
const homesName = "home chats"

// homes knows where the owner is told what needs care: at most one place a platform. What an admin has said there counts
// more than the config, as long as he is one. Safe for use from any goroutine.
type homes struct {
	store      sessions.Store
	rules      func() rules
	configured func() []platforms.Address

	mu     sync.Mutex
	stored []byte
	set    map[platforms.Name]platforms.Origin // who has said it where; without a chat: nowhere
	off    map[platforms.Name]bool             // platforms on which nothing can be said any more
}

// load reads what admins have said.
func (h *homes) load(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.read(ctx)
}

// read is load; mu is held.
func (h *homes) read(ctx context.Context) error {
	stored, err := h.store.Value(ctx, homesName)
	set := map[platforms.Name]platforms.Origin{}
	if err == nil && len(stored) > 0 {
		err = json.Unmarshal(stored, &set)
	}
	if err != nil {
		return fmt.Errorf("read where the owner is told: %w", err)
	}
	h.stored, h.set = stored, set
	return nil
}

// change makes it durable that the home of the platform is where an admin says so, or nowhere.
func (h *homes) change(ctx context.Context, o platforms.Origin, here bool) error {
	name := o.Address.Platform
	if !here {
		o = platforms.Origin{Sender: o.Sender}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		set := maps.Clone(h.set)
		set[name] = o
		value, err := json.Marshal(set)
		if err != nil {
			return err
		}
		_, err = h.store.Commit(context.WithoutCancel(ctx), sessions.Set{Name: homesName, Was: h.stored, Value: value})
		if err == nil {
			h.stored, h.set = value, set
			return nil
		}
		if !errors.Is(err, sessions.ErrState) { // another process may have written before
			return fmt.Errorf("remember where the owner is told: %w", err)
		}
		if err := h.read(ctx); err != nil {
			return err
		}
	}
}

// lose notes that nothing can be said on a platform any more.
func (h *homes) lose(name platforms.Name) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.off[name] = true
}

// on returns the home of a platform.
func (h *homes) on(name platforms.Name) (platforms.Address, bool) {
	rules := h.rules()
	h.mu.Lock()
	defer h.mu.Unlock()
	if o, said := h.set[name]; said {
		mine := rules.admit(o).Admitted && rules.access.Admin(name, o.Sender.ID)
		return o.Address, !h.off[name] && mine
	}
	for _, a := range h.configured() {
		if a.Platform == name {
			return a, !h.off[name]
		}
	}
	return platforms.Address{}, false
}

// elsewhere returns a home in which to tell of trouble at an address, which may be a whole platform: on another one if
// there is one, because the trouble may concern all of its platform, and none of those that have refused it.
func (h *homes) elsewhere(trouble platforms.Address, refused []platforms.Address, names []platforms.Name) (platforms.Address, bool) {
	slices.SortFunc(names, func(a, b platforms.Name) int {
		if (a == trouble.Platform) != (b == trouble.Platform) {
			return map[bool]int{true: 1, false: -1}[a == trouble.Platform]
		}
		return strings.Compare(string(a), string(b))
	})
	for _, name := range names {
		at, ok := h.on(name)
		if ok && !slices.Contains(refused, at) && (name != trouble.Platform || trouble.Chat != "" && at.Chat != trouble.Chat) {
			return at, true
		}
	}
	return platforms.Address{}, false
}
