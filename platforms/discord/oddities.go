package discord

import (
	"log/slog"
	"sync"
)

const keepOddities = 256

// oddities counts what came and was not understood, and logs the first of each kind. Safe for use from any goroutine.
type oddities struct {
	log *slog.Logger

	mu    sync.Mutex
	count map[string]int
}

func newOddities(log *slog.Logger) *oddities {
	return &oddities{log: log, count: map[string]int{}}
}

func (o *oddities) note(kind string, err error) {
	o.mu.Lock()
	if _, known := o.count[kind]; !known && len(o.count) >= keepOddities {
		kind = "other"
	}
	o.count[kind]++
	first := o.count[kind] == 1
	o.mu.Unlock()
	if first {
		o.log.Warn("discord: not understood and passed over", "what", kind, "error", err)
	}
}

// total returns how many things were not understood.
func (o *oddities) total() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, c := range o.count {
		n += c
	}
	return n
}

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
