package demo

import (
	"net/http"
	"slices"
	"sync"
)

// Scripted is a model whose answers a test decides. What it gets is checked as strictly as ever, and recorded.
type Scripted struct {
	*Server

	mu       sync.Mutex
	requests []Request
	refused  []error
}

// NewScripted returns a model that answers requests as told. The function is called for each valid request, from that
// request's goroutine; see Steps for a fixed order.
func NewScripted(options Options, answer func(Request) Response) *Scripted {
	s := &Scripted{}
	s.Server = newServer(options, func(req Request) Response {
		s.mu.Lock()
		s.requests = append(s.requests, req)
		s.mu.Unlock()
		return answer(req)
	})
	s.Server.refused = func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refused = append(s.refused, err)
	}
	return s
}

// Requests returns the valid requests so far, in the order in which they came.
func (s *Scripted) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Forget forgets the requests so far, and why some were refused.
func (s *Scripted) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.refused = nil, nil
}

// Refused returns why requests were refused so far; a client that behaves has none, but for contexts that are too long.
func (s *Scripted) Refused() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refused)
}

// Steps returns a script that gives the responses in order, and then refuses to answer.
func Steps(responses ...Response) func(Request) Response {
	var mu sync.Mutex
	return func(Request) Response {
		mu.Lock()
		defer mu.Unlock()
		if len(responses) == 0 {
			return Fail(http.StatusBadRequest, "the script has no more steps")
		}
		next := responses[0]
		responses = responses[1:]
		return next
	}
}
