package discord

import "sync"

const keepEdits = 4096

// recent remembers the last edit time of messages, bounded: the oldest are forgotten first. Safe for use from any
// goroutine.
type recent struct {
	mu    sync.Mutex
	last  map[string]string
	order []string
}

func newRecent() *recent { return &recent{last: map[string]string{}} }

// changed notes a value and tells whether it differs from the one before.
func (r *recent) changed(key, value string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.last[key]
	if known && was == value {
		return false
	}
	if !known {
		if len(r.order) >= keepEdits {
			delete(r.last, r.order[0])
			r.order = r.order[1:]
		}
		r.order = append(r.order, key)
	}
	r.last[key] = value
	return true
}
