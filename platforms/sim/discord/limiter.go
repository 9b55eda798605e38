package discord

import (
	"hash/fnv"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Limits of the API as observed on the service; only the global one and the ceiling of invalid requests are documented,
// the rest a client has to read from the headers.
const (
	globalPerSecond  = 50
	invalidCeiling   = 10_000 // 401, 403 and 429 answers in ten minutes, then Cloudflare blocks the address
	invalidWindow    = 10 * time.Minute
	cloudflareBlocks = time.Hour
)

// quota is a limit of one route: so many calls in a window, for each channel.
type quota struct {
	calls  int
	window time.Duration
}

func quotaOf(route string) quota {
	switch route {
	case "POST /channels/messages", "PATCH /channels/messages", "POST /channels/typing", "DELETE /channels/messages", "GET /channels/messages":
		return quota{5, 5 * time.Second}
	case "PUT /channels/messages/reactions":
		return quota{1, 250 * time.Millisecond}
	case "PUT /applications/commands":
		return quota{2, 5 * time.Second}
	default:
		return quota{10, 10 * time.Second}
	}
}

// limiter counts calls, per route and channel and over all. It is guarded by the server's lock.
type limiter struct {
	off     bool
	buckets map[string]*bucket
	global  bucket
	invalid bucket
	blocked time.Time
}

// bucket is one window of calls.
type bucket struct {
	used  int
	reset time.Time
}

// spend counts one call and tells whether it is one too many.
func (b *bucket) spend(q quota, now time.Time) bool {
	if !b.reset.After(now) {
		*b = bucket{reset: now.Add(q.window)}
	}
	b.used++
	return b.used > q.calls
}

// excess is a call over a limit.
type excess struct {
	wait       time.Duration
	global     bool
	cloudflare bool
}

// admit counts a call on a route and channel, sets the rate limit headers and returns the excess if there is one.
func (l *limiter) admit(h http.Header, route, channel string) *excess {
	if l.off {
		return nil
	}
	now := time.Now()
	if l.blocked.After(now) {
		return &excess{wait: l.blocked.Sub(now), cloudflare: true}
	}
	if route == "POST /interactions/callback" { // not bound to the global limit
		return nil
	}
	if l.global.spend(quota{globalPerSecond, time.Second}, now) {
		return &excess{wait: l.global.reset.Sub(now), global: true}
	}
	key, q := route+" "+channel, quotaOf(route)
	b := l.buckets[key]
	if b == nil {
		l.forget(now)
		b = &bucket{}
		l.buckets[key] = b
	}
	over := b.spend(q, now)
	wait := b.reset.Sub(now)
	h.Set("X-RateLimit-Limit", strconv.Itoa(q.calls))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(q.calls-b.used, 0)))
	h.Set("X-RateLimit-Reset", strconv.FormatFloat(float64(b.reset.UnixMilli())/1000, 'f', 3, 64))
	h.Set("X-RateLimit-Reset-After", strconv.FormatFloat(wait.Seconds(), 'f', 3, 64))
	h.Set("X-RateLimit-Bucket", bucketName(route))
	if over {
		return &excess{wait: wait}
	}
	return nil
}

func (l *limiter) forget(now time.Time) {
	if len(l.buckets) < 1024 {
		return
	}
	for k, b := range l.buckets {
		if !b.reset.After(now) {
			delete(l.buckets, k)
		}
	}
}

// answered counts answers that Cloudflare counts.
func (l *limiter) answered(status int) {
	if l.off || (status != 401 && status != 403 && status != 429) {
		return
	}
	now := time.Now()
	if l.invalid.spend(quota{invalidCeiling, invalidWindow}, now) {
		l.blocked = now.Add(cloudflareBlocks)
	}
}

func bucketName(route string) string {
	h := fnv.New64a()
	h.Write([]byte(route))
	return strconv.FormatUint(h.Sum64(), 16)
}

// refuseExcess writes the 429 answer in the shape that fits.
func refuseExcess(w http.ResponseWriter, e excess) {
	h := w.Header()
	h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.wait.Seconds()))))
	if e.cloudflare {
		h.Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte("error code: 1015"))
		return
	}
	scope := "user"
	if e.global {
		scope = "global"
		h.Set("X-RateLimit-Global", "true")
	}
	h.Set("X-RateLimit-Scope", scope)
	answer(w, http.StatusTooManyRequests, object{
		"message": "You are being rate limited.", "retry_after": math.Ceil(e.wait.Seconds()*1000) / 1000, "global": e.global,
	})
}
