package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

const (
	liveFor    = 3 * 24 * time.Hour // a place where nobody has talked to us for longer is not read again
	mostPlaces = 500                // of one platform; the ones that were quiet the longest are forgotten first
)

// places knows, for each platform that can be read back, until when it was surely heard, and where people talked to us
// lately. It is kept in one value of the store for each. Safe for use from any goroutine.
type places struct {
	store sessions.Store

	mu    sync.Mutex
	heard map[platforms.Name]*heard
}

// heard is the memory of one platform.
type heard struct {
	until  time.Time
	before time.Time // until, some seconds ago: a sign of life may come before the news of a new connection
	behind time.Time // what was written since then is still being read; zero = nothing is
	places map[platforms.Address]time.Time
	fresh  bool          // there is a new place
	news   chan struct{} // says so
	saved  time.Time     // when it was last written down
	stored []byte
}

// heardJSON is the encoding of heard.
type heardJSON struct {
	Until  time.Time   `json:"until"`
	Places []placeJSON `json:"places"`
}

type placeJSON struct {
	Address platforms.Address `json:"address"`
	At      time.Time         `json:"at"`
}

func newPlaces(store sessions.Store) *places {
	return &places{store: store, heard: map[platforms.Name]*heard{}}
}

func heardName(p platforms.Name) string { return "heard " + string(p) }

// load reads what an earlier process knew.
func (p *places) load(ctx context.Context, adapters []platforms.Adapter) error {
	for _, a := range adapters {
		if _, ok := a.(platforms.Historian); !ok {
			continue
		}
		h := &heard{places: map[platforms.Address]time.Time{}, news: make(chan struct{}, 1)}
		p.heard[a.Name()] = h
		stored, err := p.store.Value(ctx, heardName(a.Name()))
		if err != nil {
			return err
		}
		if len(stored) == 0 {
			continue
		}
		var j heardJSON
		if err := json.Unmarshal(stored, &j); err != nil {
			return fmt.Errorf("read until when %s was heard: %w", a.Name(), err)
		}
		h.stored, h.until, h.before = stored, j.Until, j.Until
		for _, place := range j.Places {
			h.places[place.Address] = place.At
		}
	}
	return nil
}

// visit notes that somebody talked to us.
func (p *places) visit(at platforms.Address) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.heard[at.Platform]
	if h == nil {
		return
	}
	if _, known := h.places[at]; !known {
		h.fresh = true
		select {
		case h.news <- struct{}{}:
		default:
		}
	}
	h.places[at] = time.Now()
}

// pause waits for the next look at a platform: a while, or until there is a new place and others had a moment to join
// it. It reports false if the context ended.
func (p *places) pause(ctx context.Context, name platforms.Name) bool {
	look, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	select {
	case <-p.heard[name].news:
		return sleepUntil(ctx, time.Now().Add(joinFor))
	case <-look.Done():
		return ctx.Err() == nil
	}
}

// live returns where people talked to us lately: the chats first, then their threads.
func (p *places) live(name platforms.Name) (chats, threads []platforms.Address) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, last := range p.heard[name].places {
		if time.Since(last) > liveFor {
			continue
		}
		if chat := whole(at); !slices.Contains(chats, chat) {
			chats = append(chats, chat)
		}
		if at.Thread != "" {
			threads = append(threads, at)
		}
	}
	return chats, threads
}

// begin notes that a platform is being read from a time on, and returns that time: zero if nobody has ever listened.
func (p *places) begin(name platforms.Name) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.heard[name]
	if h.behind.IsZero() {
		h.behind = h.before
	}
	return h.behind
}

// done notes that it has been read.
func (p *places) done(name platforms.Name) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard[name].behind = time.Time{}
}

// listened notes that a platform was heard until a time, and writes that down if it is worth it.
func (p *places) listened(ctx context.Context, name platforms.Name, until time.Time, every time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.heard[name]
	if until.After(h.until) {
		h.before, h.until = h.until, until
	}
	if h.until.IsZero() || !h.fresh && time.Since(h.saved) < every {
		return nil
	}
	value, err := h.encode()
	if err != nil || string(value) == string(h.stored) {
		return err
	}
	_, err = p.store.Commit(context.WithoutCancel(ctx), sessions.Set{Name: heardName(name), Was: h.stored, Value: value})
	if err != nil {
		h.stored, _ = p.store.Value(ctx, heardName(name))
		return err
	}
	h.stored, h.saved, h.fresh = value, time.Now(), false
	return nil
}

// encode writes the memory down, without what is too old.
func (h *heard) encode() ([]byte, error) {
	j := heardJSON{Until: h.until.UTC()}
	if !h.behind.IsZero() {
		j.Until = h.behind.UTC()
	}
	for at, last := range h.places {
		if time.Since(last) > liveFor {
			delete(h.places, at)
			continue
		}
		j.Places = append(j.Places, placeJSON{at, last.UTC()})
	}
	slices.SortFunc(j.Places, func(a, b placeJSON) int { return b.At.Compare(a.At) })
	if len(j.Places) > mostPlaces {
		for _, place := range j.Places[mostPlaces:] {
			delete(h.places, place.Address)
		}
		j.Places = j.Places[:mostPlaces]
	}
	return json.Marshal(j)
}
