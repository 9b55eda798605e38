package gateway

import "sync"

// index finds by name what lives in a running turn: a button knows no conversation, because several people may press it.
// Safe for use from any goroutine; the zero value is empty.
type index[T any] struct {
	mu     sync.Mutex
	byName map[string]T
}

// put adds something and returns how to take it out again.
func (x *index[T]) put(name string, v T) (remove func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byName == nil {
		x.byName = map[string]T{}
	}
	x.byName[name] = v
	return func() { x.remove(name) }
}

func (x *index[T]) remove(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.byName, name)
}

// len returns how much there is.
func (x *index[T]) len() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.byName)
}

// get returns what has that name, the zero value if nothing has.
func (x *index[T]) get(name string) T {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.byName[name]
}
