package slack

import (
	"sync"
	"time"
)

// rate is a limit of Slack: burst calls at once, one more per every.
type rate struct {
	every time.Duration
	burst int
}

// perMinute is a tier of the Web API. Slack says that tiers are evaluated per minute with some burst tolerated; here the
// whole minute's quota may come at once, and is refilled evenly.
func perMinute(n int) rate { return rate{time.Minute / time.Duration(n), n} }

// methodRates are the tiers that Slack documents for each method (docs.slack.dev/apis/web-api/rate-limits).
func methodRates() map[string]rate {
	return map[string]rate{
		"apps.connections.open":       {time.Minute, 10}, // tier 1 with the burst that reconnecting needs
		"assistant.threads.setStatus": perMinute(600),
		"auth.test":                   perMinute(600),
		"chat.delete":                 perMinute(50),
		"chat.postEphemeral":          perMinute(100),
		"chat.postMessage":            perMinute(300), // "several hundred messages per minute" in a workspace
		"chat.update":                 perMinute(50),
		"conversations.history":       perMinute(50),
		"conversations.info":          perMinute(50),
		"conversations.open":          perMinute(50),
		"conversations.replies":       perMinute(50),
		"files.info":                  perMinute(100),
		"reactions.add":               perMinute(50),
		"users.info":                  perMinute(100),
	}
}

// postingRate is that of one conversation: one message a second, short bursts tolerated.
func postingRate() rate { return rate{time.Second, 5} }

// rates counts calls.
type rates struct {
	mu   sync.Mutex
	full map[string]time.Time // when the bucket will be full again
}

// take uses up one call, or returns how long to wait for it.
func (r *rates) take(name string, limit rate) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.full == nil {
		r.full = map[string]time.Time{}
	}
	full := r.full[name]
	if full.Before(now) {
		full = now
	}
	if wait := full.Add(-time.Duration(limit.burst-1) * limit.every).Sub(now); wait > 0 {
		return wait
	}
	r.full[name] = full.Add(limit.every)
	if len(r.full) > 10_000 {
		for n, t := range r.full {
			if t.Before(now) {
				delete(r.full, n)
			}
		}
	}
	return 0
}

// tooFast returns how long a call has to wait for its limits, 0 if it may go.
func (s *Server) tooFast(c *call) time.Duration {
	if s.cfg.Unlimited {
		return 0
	}
	if limit, ok := methodRates()[c.method]; ok {
		if wait := s.rates.take(c.method, limit); wait > 0 {
			return wait
		}
	}
	if c.method == "chat.postMessage" {
		return s.rates.take("post "+c.chat(), postingRate())
	}
	return 0
}
