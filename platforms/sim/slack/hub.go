package slack

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

const (
	ackWithin    = 3 * time.Second // an envelope not acknowledged by then is delivered again
	mostSockets  = 10
	mostAckBytes = 20 * 1024 // Slack silently drops larger answers
	mostWaiting  = 10_000    // events kept for the next connection
)

// retryAfter says when an event that was not acknowledged is delivered again (docs.slack.dev/apis/events-api: at once,
// after a minute, after five minutes).
func retryAfter(tries int) (wait time.Duration, again bool) {
	switch tries {
	case 1:
		return 0, true
	case 2:
		return time.Minute, true
	case 3:
		return 5 * time.Minute, true
	}
	return 0, false
}

// hub holds the Socket Mode connections and the envelopes on their way.
type hub struct {
	faults *sim.EventFaults

	mu       sync.Mutex // never held over a wait
	rand     *rand.Rand
	serial   int
	tickets  map[string]bool
	links    []*link              // that events go to
	open     map[*link]bool       // all, also those that were sent away or are deaf
	address  string               // scheme and host under which the client knows us
	waiting  []*envelope          // for a connection
	pending  map[string]*envelope // sent, not acknowledged, by id
	resting  int                  // that wait to be sent again
	held     *envelope            // swapped with its successor
	opened   int
	disabled bool
	closed   bool
	handlers sync.WaitGroup
}

// envelope is one thing to be delivered and acknowledged.
type envelope struct {
	kind    string
	payload any
	retry   bool                          // deliver again when it is not acknowledged; Slack does so for events only
	answer  func(payload json.RawMessage) // the acknowledgement came in time
	failed  func()                        // it never came

	id    string
	tries int
	link  *link
	timer *time.Timer
}

func newHub(faults *sim.EventFaults, rng *rand.Rand) *hub {
	return &hub{faults: faults, rand: rng, tickets: map[string]bool{}, open: map[*link]bool{}, pending: map[string]*envelope{}}
}

// deliver sends an envelope over one of the connections, or keeps it until there is one.
func (h *hub) deliver(e *envelope) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	if h.held == nil && h.faults.TakeSwap() {
		h.held = e
		return
	}
	h.send(e)
	if h.faults.TakeDuplicate() {
		twin := *e
		h.send(&twin)
	}
	if e := h.held; e != nil {
		h.held = nil
		h.send(e)
	}
}

// send puts an envelope on the wire. The lock is held.
func (h *hub) send(e *envelope) {
	if len(h.links) == 0 {
		if !e.retry { // an interaction without anybody to hear it fails at once
			time.AfterFunc(ackWithin, e.failed)
			return
		}
		if len(h.waiting) >= mostWaiting {
			h.waiting = slices.Delete(h.waiting, 0, 1)
		}
		h.waiting = append(h.waiting, e)
		return
	}
	h.serial++
	e.tries++
	e.id = fmt.Sprintf("%08x-0000-4000-8000-%012x", h.serial, h.rand.Uint64()&0xffffffffffff)
	e.link = h.links[h.rand.IntN(len(h.links))]
	frame := object{
		"envelope_id": e.id, "type": e.kind, "payload": e.payload,
		"accepts_response_payload": e.kind != "events_api",
	}
	if e.kind == "events_api" {
		frame["retry_attempt"], frame["retry_reason"] = e.tries-1, ""
		if e.tries > 1 {
			frame["retry_reason"] = "timeout"
		}
	}
	data, err := json.Marshal(frame)
	if err != nil {
		panic("sim/slack: " + err.Error())
	}
	h.pending[e.id] = e
	e.link.push(data)
	id := e.id
	e.timer = time.AfterFunc(ackWithin, func() { h.expire(id) })
}

// expire handles an envelope that was not acknowledged in time.
func (h *hub) expire(id string) {
	h.mu.Lock()
	e := h.pending[id]
	delete(h.pending, id)
	if e == nil || h.closed {
		h.mu.Unlock()
		return
	}
	wait, again := retryAfter(e.tries)
	again = again && e.retry
	switch {
	case again && wait == 0:
		h.send(e)
	case again:
		h.resting++
		time.AfterFunc(wait, func() { h.resume(e) })
	}
	h.mu.Unlock()
	if !again && e.failed != nil {
		e.failed()
	}
}

// resume sends an envelope again after its pause.
func (h *hub) resume(e *envelope) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.resting--
	h.send(e)
}

// acknowledge takes an answer that came over a connection; only the connection that carried the envelope counts.
func (h *hub) acknowledge(l *link, data []byte) {
	if len(data) >= mostAckBytes {
		return
	}
	var ack struct {
		EnvelopeID string          `json:"envelope_id"`
		Payload    json.RawMessage `json:"payload"`
	}
	if json.Unmarshal(data, &ack) != nil {
		return
	}
	h.mu.Lock()
	e := h.pending[ack.EnvelopeID]
	if e == nil || e.link != l || l.deaf {
		h.mu.Unlock()
		return
	}
	delete(h.pending, ack.EnvelopeID)
	e.timer.Stop()
	h.mu.Unlock()
	if e.answer != nil {
		e.answer(ack.Payload)
	}
}

// frame sends a frame as it stands over the first connection.
func (h *hub) frame(data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.links) > 0 {
		h.links[0].push(data)
	}
}

func (h *hub) disconnect(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.disabled = h.disabled || reason == "link_disabled"
	for _, l := range h.links {
		l.dismiss(reason)
	}
	h.links = nil
}

// enable switches Socket Mode on or off for later connections.
func (h *hub) enable(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.disabled = !on
}

func (h *hub) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.open {
		l.end()
	}
	h.links = nil
}

func (h *hub) deafen() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.links {
		l.deaf = true
	}
}

func (h *hub) giveUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = nil
	for id, e := range h.pending {
		e.timer.Stop()
		delete(h.pending, id)
	}
}

func (h *hub) connections() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.links)
}

func (h *hub) openedSoFar() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.opened
}

func (h *hub) unacknowledged() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.pending) + len(h.waiting) + h.resting
}

func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	for _, e := range h.pending {
		e.timer.Stop()
	}
	for l := range h.open {
		l.end()
	}
	h.links = nil
	h.mu.Unlock()
	h.handlers.Wait()
}

func (h *hub) base() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.address
}
