package gateway

import (
	"cmp"
	"context"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// Live is what turns are run with. It can be exchanged while the gateway works.
type Live struct {
	Runner     *loop.Runner // its Approver and Asker are set by the gateway
	Compressor Compressor
	Judge      Judge // nil = people are always asked
	// Price returns what a usage of a model costs in US dollars, and whether that is known; nil = it never is.
	Price func(model string, u sessions.Usage) (usd float64, known bool)
	Eyes  tools.Describer // looks at pictures where the conversation's model cannot see; nil = no model can
}

// settings is all that can change while the gateway works. It is exchanged as a whole and never changed, so that whoever
// needs two of its values takes it once; a turn keeps the one that it began with.
type settings struct {
	Config
	Live
}

// now returns the settings of this moment.
func (g *Gateway) now() *settings { return g.current.Load() }

// Change exchanges the settings while the gateway works: who may talk to it, how conversations and answers go, limits,
// models. Turns that run keep what they began with; a question that waits is asked of whoever may answer it now. What
// cannot change stays as it was: folders, CatchUp, Grace. It may be called from any goroutine, one call at a time.
func (g *Gateway) Change(cfg Config, live Live) {
	old := g.now()
	cfg.WorkRoot, cfg.Workspace, cfg.NewWork = old.WorkRoot, old.Workspace, old.NewWork
	cfg.CatchUp, cfg.Grace = old.CatchUp, old.Grace
	live.Runner.Succeed(old.Runner)
	g.adopt(cfg, live)
	g.pool.resize(max(cfg.Workers, 1))
	g.room.resize(cfg.room())
}

// adopt makes settings those of this moment.
func (g *Gateway) adopt(cfg Config, live Live) {
	live.Runner.Approver, live.Runner.Asker = g, g
	cfg.Files = cmp.Or(cfg.Files, DefaultFiles())
	g.current.Store(&settings{Config: cfg, Live: live})
}

// room returns how many messages may wait, in all and of one person.
func (cfg *Config) room() (all, ofOne int) {
	return cmp.Or(cfg.MaxQueued, 2000), cmp.Or(cfg.MaxQueuedPerUser, 100)
}

// TellOwner lets the owner know of something at his home, if there is one, once for each cause; the cause becomes part of
// an id. It waits until the gateway can tell anybody anything.
func (g *Gateway) TellOwner(ctx context.Context, cause, text string) {
	select {
	case <-g.ready:
		g.tellOwner(platforms.Address{}, cause, text)
	case <-ctx.Done():
	}
}
