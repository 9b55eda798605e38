package gateway

import (
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// firstSign is the first thing that shows a person that a message was taken. Safe for use from any goroutine; nil is a sign
// that nobody waits for.
type firstSign struct {
	accepted time.Time // when the message was
	once     sync.Once
}

// shown counts the sign, the first time.
func (s *firstSign) shown(g *Gateway, p platforms.Name) {
	if s != nil {
		s.once.Do(func() { g.observe(Signed{Platform: p, Waited: time.Since(s.accepted)}) })
	}
}

// waited is how long ago the message was accepted, 0 if that is not known.
func (s *firstSign) waited() time.Duration {
	if s == nil {
		return 0
	}
	return time.Since(s.accepted)
}
