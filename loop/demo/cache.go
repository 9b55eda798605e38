package demo

import (
	"strings"
	"sync"
)

// remembered is how many prompts the cache knows.
const remembered = 16

// prefixes stands for a provider's prompt cache: it tells how much of a prompt is the beginning of one that was seen
// before. Its method may be called from any goroutine.
type prefixes struct {
	mu     sync.Mutex
	recent []string
}

// seen returns how many bytes of a prompt are known, and remembers it. A prompt takes the place of those that it goes
// on from, so a long conversation is kept once.
func (p *prefixes) seen(prompt string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	longest := 0
	kept := p.recent[:0]
	for _, known := range p.recent {
		longest = max(longest, common(known, prompt))
		if !strings.HasPrefix(prompt, known) {
			kept = append(kept, known)
		}
	}
	p.recent = append(kept, prompt)
	if len(p.recent) > remembered {
		p.recent = append(p.recent[:0], p.recent[1:]...)
	}
	return longest
}

// common returns the length of the common beginning of two texts.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
