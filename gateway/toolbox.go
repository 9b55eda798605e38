package gateway

import (
	"log/slog"
	"sync"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/tools"
)

// toolbox knows what turns can use: the tools that the gateway was made with, and behind them those of a source, as they are
// now. Safe for use from any goroutine.
type toolbox struct {
	fixed  kit
	source tools.Source // nil = there is none
	log    *slog.Logger

	mu      sync.Mutex
	made    kit    // of the version
	version uint64 // 0 = there was none yet
}

// newToolbox declares the fixed tools.
func newToolbox(fixed *tools.Registry, source tools.Source, log *slog.Logger) (*toolbox, error) {
	declared, err := loop.Declare(fixed)
	if err != nil {
		return nil, err
	}
	b := &toolbox{fixed: kit{fixed, declared}, source: source, log: log}
	b.made = b.fixed
	return b, nil
}

// now returns what a turn that begins now can use.
func (b *toolbox) now() kit {
	if b.source == nil {
		return b.fixed
	}
	more, version := b.source.Tools()
	b.mu.Lock()
	defer b.mu.Unlock()
	if version == b.version {
		return b.made
	}
	all := b.fixed.tools.Tools()
	for _, t := range more {
		if _, taken := b.fixed.tools.Lookup(t.Spec().Name); taken {
			b.log.Warn("a tool is left out, because there is one of that name", "tool", t.Spec().Name)
			continue
		}
		all = append(all, t)
	}
	made, err := declare(all)
	if err != nil {
		b.log.Error("the tools of others could not be declared; going on with those that there were", "error", err)
		made = b.made
	}
	b.made, b.version = made, version
	return made
}

func declare(all []tools.Tool) (kit, error) {
	registry, err := tools.NewRegistry(all...)
	if err != nil {
		return kit{}, err
	}
	declared, err := loop.Declare(registry)
	return kit{registry, declared}, err
}
