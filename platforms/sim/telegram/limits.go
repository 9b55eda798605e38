package telegram

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// The published limits: about one message a second in a chat, with bursts tolerated, 20 a minute in a group and 30 a
// second in all (core.telegram.org/bots/faq, "My bot is hitting limits"). How large a burst is tolerated is not
// published; edits count like messages.
const (
	accountCalls  = 30
	accountWindow = time.Second
	groupCalls    = 20
	groupWindow   = time.Minute
	chatEvery     = time.Second
	chatBurst     = 5
)

// limiter counts messages and edits. The server's mutex guards it.
type limiter struct {
	account window
	groups  map[string]*window
	chats   map[string]time.Time // when the chat's allowance will be full again
}

func newLimiter() limiter {
	return limiter{groups: map[string]*window{}, chats: map[string]time.Time{}}
}

// take counts one message or edit, or returns for how long the chat must wait, in which case it does not count.
func (l *limiter) take(chat string, group bool, now time.Time) time.Duration {
	l.forget(now)
	wait := l.account.wait(accountCalls, accountWindow, now)
	full := l.chats[chat]
	if full.Before(now) {
		full = now
	}
	wait = max(wait, full.Sub(now)-(chatBurst-1)*chatEvery)
	var g *window
	if group {
		if g = l.groups[chat]; g == nil {
			g = &window{}
			l.groups[chat] = g
		}
		wait = max(wait, g.wait(groupCalls, groupWindow, now))
	}
	if wait > 0 {
		return wait
	}
	l.account.add(now)
	l.chats[chat] = full.Add(chatEvery)
	if g != nil {
		g.add(now)
	}
	return 0
}

// forget drops chats that have been quiet, once there are many.
func (l *limiter) forget(now time.Time) {
	if len(l.chats) < 1024 {
		return
	}
	for id, full := range l.chats {
		if full.Add(groupWindow).Before(now) {
			delete(l.chats, id)
			delete(l.groups, id)
		}
	}
}

// window holds the times of recent calls, oldest first.
type window struct{ calls []time.Time }

// wait returns how long it takes until another call fits into the window.
func (w *window) wait(calls int, span time.Duration, now time.Time) time.Duration {
	for len(w.calls) > 0 && !w.calls[0].Add(span).After(now) {
		w.calls = w.calls[1:]
	}
	if len(w.calls) < calls {
		return 0
	}
	return w.calls[len(w.calls)-calls].Add(span).Sub(now)
}

func (w *window) add(now time.Time) { w.calls = append(w.calls, now) }

// tooManyRequests refuses a call in the Bot API's form, with whole seconds.
func tooManyRequests(wait time.Duration) *refusal {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	return &refusal{
		code:        http.StatusTooManyRequests,
		description: "Too Many Requests: retry after " + strconv.Itoa(seconds),
		retryAfter:  seconds,
	}
}
