package demo

import (
	"crypto/sha256"
	"encoding/json"
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

// lookBack is how many blocks before a mark are looked at for something that the cache knows.
const lookBack = 20

// promptBlock is a piece of a prompt of the Messages protocol, as the cache sees it.
type promptBlock struct {
	text   string
	marked bool
}

// addBlock adds a piece to the prompt.
func (r *Request) addBlock(marked bool, words ...string) {
	r.blocks = append(r.blocks, promptBlock{strings.Join(words, "\n"), marked})
}

func (r *Request) addBlocks(role string, content blocks) {
	for _, b := range content {
		marked := b.CacheControl != nil
		b.CacheControl = nil
		raw, _ := json.Marshal(b) // has nothing in it that cannot be marshalled
		r.addBlock(marked, role, string(raw))
	}
}

// breakpoints stands for a prompt cache that keeps the beginnings of prompts up to where the client marks them. Its
// method may be called from any goroutine.
type breakpoints struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]bool
}

// seen returns how many bytes of a prompt the cache knows, and how many it takes in now.
func (c *breakpoints) seen(prompt []promptBlock) (known, written int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[[sha256.Size]byte]bool{}
	}
	sums, sizes := make([][sha256.Size]byte, len(prompt)), make([]int, len(prompt))
	hash, size, marked := sha256.New(), 0, 0
	for i, b := range prompt {
		hash.Write([]byte(b.text + "\x00"))
		size += len(b.text)
		hash.Sum(sums[i][:0])
		sizes[i] = size
		if !b.marked {
			continue
		}
		marked = size
		for j := i; j >= max(0, i-lookBack); j-- {
			if c.known[sums[j]] {
				known = max(known, sizes[j])
				break
			}
		}
	}
	for i, b := range prompt {
		if b.marked {
			c.known[sums[i]] = true
		}
	}
	return known, marked - known
}
