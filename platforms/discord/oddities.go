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
		o.log.Warn("not understood and passed over", "what", kind, "error", err)
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
