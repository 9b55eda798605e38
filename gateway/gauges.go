package gateway

import (
	"context"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// Gauges is how a running gateway stands at the moment.
type Gauges struct {
	Waiting     int           // accepted updates that no turn works on yet
	Claimed     int           // accepted updates that a turn works on
	Running     int           // turns
	Awake       int           // conversations
	Undelivered int           // rows that are on their way
	Oldest      time.Duration // age of the first of these whose age is known
}

// Gauges looks at the store and at what runs. It costs as much as there are updates and rows that are not done.
func (g *Gateway) Gauges(ctx context.Context) (Gauges, error) {
	s := Gauges{Running: g.turns.len(), Awake: g.live.len()}
	for item, err := range g.store.Pending(ctx) {
		switch {
		case err != nil:
			return s, err
		case item.Turn == "":
			s.Waiting++
		default:
			s.Claimed++
		}
	}
	for row, err := range g.store.Undelivered(ctx) {
		if err != nil {
			return s, err
		}
		if state := StateOf(row); state != sessions.Queued && state != sessions.Sending {
			continue
		}
		s.Undelivered++
		if s.Oldest > 0 { // they come in the order in which they were written
			continue
		}
		if out, err := decodeOutput(row); err == nil && !out.At.IsZero() {
			s.Oldest = time.Since(out.At)
		}
	}
	return s, nil
}

// Life is how a platform's connection looks, in a word.
type Life string

const (
	Alive      Life = "alive"
	Connecting Life = "connecting"
	Silent     Life = "silent"
	Unknown    Life = "unknown" // the adapter cannot tell
)

// silentAfter is how long a platform may show no sign of life. A long poll of Telegram takes 50 seconds, a heartbeat of
// Discord about 41.
const silentAfter = 2 * time.Minute

// LifeOf says how an adapter's connection looks.
func LifeOf(a platforms.Adapter) Life {
	p, ok := a.(platforms.Prober)
	if !ok {
		return Unknown
	}
	switch at := p.LastAlive(); {
	case at.IsZero():
		return Connecting
	case time.Since(at) > silentAfter:
		return Silent
	}
	return Alive
}
