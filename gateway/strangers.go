package gateway

import (
	"sync"
	"time"
)

const (
	strangerMemory = 1000      // how many strangers are remembered
	strangerPause  = time.Hour // how long one who was refused gets no second answer
)

// strangers remembers who was refused lately, so that each is answered and logged once and a flood of them costs
// nothing. Safe for use from any goroutine.
type strangers struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

func newStrangers() *strangers { return &strangers{seen: map[string]time.Time{}} }

// first tells whether somebody is met for the first time in a while. When the memory is full, newcomers get no answer
// until somebody in it is forgotten.
func (s *strangers) first(who string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if at, ok := s.seen[who]; ok && now.Sub(at) < strangerPause {
		return false
	}
	if len(s.seen) >= strangerMemory {
		for id, at := range s.seen {
			if now.Sub(at) >= strangerPause {
				delete(s.seen, id)
			}
		}
		if len(s.seen) >= strangerMemory {
			return false
		}
	}
	s.seen[who] = now
	return true
}
