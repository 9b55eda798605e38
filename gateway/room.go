package gateway

import (
	"fmt"
	"sync"
)

// room bounds how many messages wait for a turn, of one person and of all together, over all conversations. Safe for use
// from any goroutine, but an input belongs to one at a time.
type room struct {
	mu              sync.Mutex
	most, mostOfOne int
	all             int
	ofOne           map[string]int
}

func newRoom(most, mostOfOne int) *room {
	return &room{most: most, mostOfOne: mostOfOne, ofOne: map[string]int{}}
}

// resize changes how many may wait. What waits already goes on.
func (r *room) resize(most, mostOfOne int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.most, r.mostOfOne = most, mostOfOne
}

// enter lets a message wait, or says, for the person, why it cannot. One that waited before always may again.
func (r *room) enter(in *input, again bool) (full string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	person := in.person()
	switch {
	case in.waits || again:
	case r.ofOne[person] >= r.mostOfOne:
		return fmt.Sprintf("As many of your messages are waiting as I can keep (%d), so I did not take this one. Please send it again later, or stop me first.", r.mostOfOne)
	case r.all >= r.most:
		return "So many messages are waiting that I did not take this one. Please send it again in a while."
	}
	if !in.waits {
		in.waits = true
		r.all++
		r.ofOne[person]++
	}
	return ""
}

// leave says that messages do not wait any more.
func (r *room) leave(inputs ...*input) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, in := range inputs {
		if !in.waits {
			continue
		}
		in.waits = false
		r.all--
		if r.ofOne[in.person()]--; r.ofOne[in.person()] == 0 {
			delete(r.ofOne, in.person())
		}
	}
}
