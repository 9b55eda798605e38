package telegram

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// Facts about getUpdates, from the sources of tdlib/telegram-bot-api: the timeout is clamped to 50 s, the limit to
// 100; a poll that repeats the offset of one begun less than 3 s ago waits at least that long and, within 0.5 s, gets
// one update at a time; the older of two polls ends with 409, held back for 3 s so that two bots do not storm it.
const (
	maxPollTimeout = 50 * time.Second
	maxPollLimit   = 100
	keepUpdates    = 24 * time.Hour
	keepPresses    = 150 * time.Second
	repollWithin   = 3 * time.Second
	repollAtOnce   = 500 * time.Millisecond
	conflictDelay  = 3 * time.Second
	maxQueue       = 100_000
)

// queue holds the updates that the bot has not confirmed, oldest first. The server's mutex guards it.
type queue struct {
	pending []pendingUpdate
	next    int64
	held    map[string]any // an update that a fault holds back behind its successor
	arrived chan struct{}  // closed at the next arrival
	poll    *poll          // the waiting poll
	allowed []string       // kinds of updates that the bot asked for; nil = the default

	lastOffset int64
	lastStart  time.Time
}

type pendingUpdate struct {
	id      int64
	expires time.Time
	body    map[string]any
}

// poll is one waiting getUpdates; superseded is closed when another begins.
type poll struct{ superseded chan struct{} }

func newQueue() queue {
	// Real ids start anywhere and grow by one.
	return queue{next: 518_000_001, arrived: make(chan struct{})}
}

// Deliver queues an update as it stands, whether the bot has asked for its kind or not, for what the Stage cannot say:
// new kinds of updates, nonsense. The update id is filled in; the body must not be changed afterwards.
func (s *Server) Deliver(body map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enqueue(body)
}

// push queues an update that the bot has asked for, spoilt by the event faults if they say so. The mutex is held.
func (s *Server) push(body map[string]any) {
	q := &s.queue
	for kind := range body {
		if !q.wants(kind) {
			return
		}
	}
	if q.held == nil && s.faults.Events.TakeSwap() {
		q.held = body
		return
	}
	s.enqueue(body)
	if s.faults.Events.TakeDuplicate() {
		s.enqueue(body)
	}
	if held := q.held; held != nil {
		q.held = nil
		s.enqueue(held)
	}
}

func (s *Server) enqueue(body map[string]any) {
	q := &s.queue
	keep := keepUpdates
	update := map[string]any{"update_id": q.next}
	for kind, v := range body {
		if kind == "callback_query" {
			keep = keepPresses
		}
		update[kind] = v
	}
	q.pending = append(q.pending, pendingUpdate{id: q.next, expires: time.Now().Add(keep), body: update})
	if len(q.pending) > maxQueue {
		q.pending = q.pending[1:]
	}
	q.next++
	close(q.arrived)
	q.arrived = make(chan struct{})
}

// wants tells whether the bot has asked for a kind of update. The default leaves out what is costly.
func (q *queue) wants(kind string) bool {
	if q.allowed == nil {
		return kind != "chat_member" && kind != "message_reaction" && kind != "message_reaction_count"
	}
	return slices.Contains(q.allowed, kind)
}

// allow remembers which kinds of updates the bot wants from now on; an absent list keeps the earlier one.
func (q *queue) allow(list string) {
	var kinds []string
	if json.Unmarshal([]byte(list), &kinds) != nil {
		return
	}
	q.allowed = kinds
	if len(kinds) == 0 {
		q.allowed = nil
	}
}

// confirm forgets the updates that an offset confirms: all before it or, for a negative one, all but the last ones.
func (q *queue) confirm(offset int64) {
	first := 0
	switch {
	case offset < 0:
		first = max(0, len(q.pending)+int(offset))
	case offset > 0:
		for first < len(q.pending) && q.pending[first].id < offset {
			first++
		}
	}
	q.pending = q.pending[first:]
}

// batch returns up to limit updates that have not expired.
func (q *queue) batch(limit int, now time.Time) []map[string]any {
	q.pending = slices.DeleteFunc(q.pending, func(u pendingUpdate) bool { return now.After(u.expires) })
	batch := []map[string]any{}
	for _, u := range q.pending[:min(limit, len(q.pending))] {
		batch = append(batch, u.body)
	}
	return batch
}

func (s *Server) getUpdates(r *http.Request, p params) (any, *refusal) {
	if s.opts.Webhook != "" {
		return nil, &refusal{code: http.StatusConflict, description: "Conflict: can't use getUpdates method while webhook is active; " +
			"use deleteWebhook to delete the webhook first"}
	}
	offset, _ := p.integer("offset")
	limit, ok := p.integer("limit")
	if !ok || limit <= 0 || limit > maxPollLimit {
		limit = maxPollLimit
	}
	seconds, _ := p.integer("timeout")
	timeout := min(max(time.Duration(seconds)*time.Second, 0), maxPollTimeout)

	me, again := s.beginPoll(offset, p["allowed_updates"])
	defer s.endPoll(me)
	if again < repollWithin {
		timeout = max(timeout, repollWithin)
	}
	if again < repollAtOnce {
		limit = 1
	}
	expired := time.NewTimer(timeout)
	defer expired.Stop()
	for over := false; ; {
		batch, arrived := s.look(me, int(limit))
		if len(batch) > 0 || over {
			return batch, nil
		}
		select {
		case <-arrived:
		case <-expired.C:
			over = true
		case <-me.superseded:
			return nil, s.conflict(r)
		case <-s.closed:
			return nil, &refusal{code: http.StatusInternalServerError, description: "Internal Server Error: restart"}
		case <-r.Context().Done():
			return nil, badRequest("the client has gone")
		}
	}
}

// beginPoll makes a new poll the current one, supersedes the one before it and confirms what the offset confirms. It
// returns how long ago the same offset was last asked for.
func (s *Server) beginPoll(offset int64, allowed string) (*poll, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.queue
	now, again := time.Now(), keepUpdates
	if offset == q.lastOffset {
		again = now.Sub(q.lastStart)
	}
	q.lastOffset, q.lastStart = offset, now
	if q.poll != nil {
		close(q.poll.superseded)
	}
	q.poll = &poll{superseded: make(chan struct{})}
	q.allow(allowed)
	q.confirm(offset)
	return q.poll, again
}

// look returns what there is for a poll, unless it has been superseded, and a channel that tells of more.
func (s *Server) look(p *poll, limit int) ([]map[string]any, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.poll != p {
		return []map[string]any{}, s.queue.arrived
	}
	return s.queue.batch(limit, time.Now()), s.queue.arrived
}

// endPoll forgets a poll, unless another has taken its place.
func (s *Server) endPoll(p *poll) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.poll == p {
		s.queue.poll = nil
	}
}

// conflict tells the older of two polls that it has lost.
func (s *Server) conflict(r *http.Request) *refusal {
	select {
	case <-time.After(conflictDelay):
	case <-s.closed:
	case <-r.Context().Done():
	}
	return &refusal{code: http.StatusConflict, description: "Conflict: terminated by other getUpdates request; " +
		"make sure that only one bot instance is running"}
}

// pendingCount returns how many updates wait for confirmation.
func (s *Server) pendingCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue.pending)
}
