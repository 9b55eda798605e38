package sim

import (
	"net/http"
	"sync"
	"time"
)

// Fault makes calls go wrong. The zero values of Method and Chat match every call.
type Fault struct {
	Method string // API method as the platform names it ("sendMessage", "chat.postMessage", "POST /channels/messages")
	Chat   string
	Times  int // how many calls; 0 = one, negative = until cleared

	Status     int           // answer with this status (429, 500, 502, 403 ...) without doing anything
	RetryAfter time.Duration // with Status 429
	Error      string        // the platform's error code or description; empty = the usual one for the status
	Delay      time.Duration // wait before handling the call
	Cut        bool          // close the connection before doing anything
	Lose       bool          // do it, then close the connection instead of answering
	HTML       bool          // with Status: answer with an HTML page instead of JSON
}

// Faults is the fault script of one simulator, besides the faults that apply to what the platform sends by itself.
// Safe for use from any goroutine.
type Faults struct {
	mu     sync.Mutex
	calls  []Fault
	Events EventFaults
}

// EventFaults spoil the events that a simulator delivers to the adapter. Set before use.
type EventFaults struct {
	mu        sync.Mutex
	duplicate int
	swap      bool
}

// Add appends a fault; earlier ones are used up first.
func (f *Faults) Add(fault Fault) {
	if fault.Times == 0 {
		fault.Times = 1
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fault)
}

// Clear removes all faults.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = nil
}

// Take returns the fault for a call, if there is one, and uses it up. Simulators call it once for each request.
func (f *Faults) Take(method, chat string) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, c := range f.calls {
		if (c.Method != "" && c.Method != method) || (c.Chat != "" && c.Chat != chat) {
			continue
		}
		if c.Times > 0 {
			f.calls[i].Times--
			if f.calls[i].Times == 0 {
				f.calls = append(f.calls[:i:i], f.calls[i+1:]...)
			}
		}
		return c, true
	}
	return Fault{}, false
}

// Duplicate makes the next n events arrive twice.
func (e *EventFaults) Duplicate(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.duplicate = n
}

// TakeDuplicate tells whether the next event is to be delivered twice.
func (e *EventFaults) TakeDuplicate() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.duplicate == 0 {
		return false
	}
	e.duplicate--
	return true
}

// Swap makes the next event wait until the one after it has been delivered.
func (e *EventFaults) Swap() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.swap = true
}

// TakeSwap tells whether the next event is to be held back behind its successor.
func (e *EventFaults) TakeSwap() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	was := e.swap
	e.swap = false
	return was
}

// CutConnection ends the HTTP request without an answer, as a lost connection does.
func CutConnection() {
	panic(http.ErrAbortHandler)
}
