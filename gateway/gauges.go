package gateway

import (
	"context"
	"time"

	"github.com/talaria-agent/talaria/platforms"
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

// Gauges looks at what waits and runs. It reads the store's inbox, which Config.MaxQueued bounds; what is on its way is
// counted in memory, because a platform that is down for a day makes that many rows.
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
	select {
	case <-g.ready:
		s.Undelivered, s.Oldest = g.outbox.underWay()
	default:
	}
	return s, nil
}

// underWay returns how many rows are on their way, and the age of the oldest of which it is known. Those that an earlier
// process left for a platform that is not configured are among them.
func (o *outbox) underWay() (n int, oldest time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := o.leftSince
	for j := range o.all() {
		n++
		if at := j.out.At; !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() {
		oldest = time.Since(first)
	}
	return n + o.left, oldest
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
