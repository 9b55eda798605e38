package gateway_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
	simdiscord "github.com/talaria-agent/talaria/platforms/sim/discord"
	simslack "github.com/talaria-agent/talaria/platforms/sim/slack"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// spoil lets one thing go wrong.
func (c *chaos) spoil() {
	if c.chance.IntN(3) == 0 {
		c.spoilEvents()
		return
	}
	seconds := func(most int) time.Duration { return time.Duration(1+c.chance.IntN(most)) * time.Second }
	f := pick(c.chance,
		sim.Fault{Status: http.StatusTooManyRequests, RetryAfter: seconds(5)},
		sim.Fault{Status: http.StatusTooManyRequests, RetryAfter: seconds(200)},
		sim.Fault{Status: http.StatusInternalServerError},
		sim.Fault{Status: http.StatusBadGateway, HTML: true},
		sim.Fault{Cut: true}, sim.Fault{Lose: true}, sim.Fault{Delay: seconds(8)},
	)
	f.Method = pick(c.chance, c.world.send, c.world.send, c.world.edit, "")
	f.Times = 1 + c.chance.IntN(3)
	c.world.stage.Faults().Add(f)
}

// spoilEvents lets something go wrong with what the platform tells.
func (c *chaos) spoilEvents() {
	events := &c.world.stage.Faults().Events
	wrong := []func(){func() { events.Duplicate(1 + c.chance.IntN(3)) }, events.Swap}
	switch s := c.world.stage.(type) {
	case *simslack.Server:
		wrong = append(wrong, s.Drop, s.Deafen, func() { s.Disconnect("warning") }, func() { s.Disconnect("refresh_requested") },
			func() { s.SetLag(time.Duration(c.chance.IntN(8)) * time.Second) })
	case *simdiscord.Server:
		wrong = append(wrong, s.Reconnect, s.Heartbeat, func() { s.Invalidate(true) }, func() { s.Invalidate(false) },
			func() { s.CloseSockets(0) }, func() { s.CloseSockets(4000) }, func() { s.Op7First(1) }, func() { s.Op11First(1) },
			func() { s.Zombie(true) }, func() { awaken(s) })
	default:
		wrong = append(wrong, func() { s.Faults().Add(sim.Fault{Method: "getUpdates", Lose: true, Times: 3}) })
	}
	pick(c.chance, wrong...)()
}

// mend lets nothing go wrong any more.
func (c *chaos) mend() {
	c.world.stage.Faults().Clear()
	switch s := c.world.stage.(type) {
	case *simslack.Server:
		s.SetLag(0)
	case *simdiscord.Server:
		awaken(s)
	}
}

// awaken ends the connections that were deaf: what they have missed comes when their sessions are resumed.
func awaken(s *simdiscord.Server) {
	s.Zombie(false)
	s.CloseSockets(0)
}

// sluggish is a store that takes its time to accept, now and then, so that acknowledgements come late. Other commits are made
// under locks, for which a bubble's clock does not wait.
type sluggish struct {
	sessions.Store
	mu     sync.Mutex
	chance *rand.Rand
}

func (s *sluggish) Commit(ctx context.Context, c sessions.Commit) (sessions.Revision, error) {
	if _, accepts := c.(sessions.Accept); accepts {
		s.mu.Lock()
		n := s.chance.IntN(2000)
		s.mu.Unlock()
		if n < 600 {
			time.Sleep(time.Duration(n*10) * time.Millisecond)
		}
	}
	return s.Store.Commit(ctx, c)
}

// marks is what a tool with an effect has done. Safe for use from any goroutine.
type marks struct {
	mu    sync.Mutex
	times map[string]int // by what it was called for
}

func (m *marks) tool() (tools.Tool, error) {
	type args struct {
		Name string `json:"name" jsonschema:"what to mark"`
	}
	return tools.New(tools.Spec{Name: "mark", Toolset: "test", Description: "Marks something.", Risk: tools.Writes},
		func(ctx context.Context, _ tools.Scope, a args) (tools.Result, error) {
			m.mu.Lock()
			if m.times == nil {
				m.times = map[string]int{}
			}
			m.times[a.Name]++
			m.mu.Unlock()
			return tools.Result{Text: "marked"}, wait(ctx, time.After(time.Second))
		})
}
