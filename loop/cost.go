package loop

import (
	"fmt"

	"github.com/talaria-agent/talaria/sessions"
)

// cost is what model calls cost, as far as the prices are known.
type cost struct {
	usd      float64
	unpriced bool // a model's price is not known
}

// costOf returns what a usage of a model costs.
func costOf(u sessions.Usage, p Profile) cost {
	if u == (sessions.Usage{}) {
		return cost{}
	}
	usd, known := p.Cost(u)
	return cost{usd, !known}
}

func (c cost) plus(d cost) cost { return cost{c.usd + d.usd, c.unpriced || d.unpriced} }

// String words it for the log.
func (c cost) String() string {
	switch {
	case c.unpriced && c.usd == 0:
		return "unknown price"
	case c.unpriced:
		return fmt.Sprintf("%.6f and an unknown price", c.usd)
	}
	return fmt.Sprintf("%.6f", c.usd)
}
