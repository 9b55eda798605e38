package loop

import "sync"

// stragglers are the tool calls that outlived their turn. Their results are dropped and logged. As long as one with
// effects runs, its conversation starts no other such call.
type stragglers struct {
	wait sync.WaitGroup
	mu   sync.Mutex
	of   map[string]int // by conversation
}

func (s *stragglers) add(conversation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.of[conversation]++
}

func (s *stragglers) remove(conversation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[conversation]--; s.of[conversation] == 0 {
		delete(s.of, conversation)
	}
}

func (s *stragglers) any(conversation string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[conversation] > 0
}
