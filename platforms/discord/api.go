package discord

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/talaria-agent/talaria/platforms"
)

const callTimeout = 30 * time.Second

// patience is how long a call waits for a frozen class: the ordinary windows of Discord's limits, which are of five
// seconds. A longer freeze is returned as an error at once, so that no goroutine is slept on for it.
const patience = 6 * time.Second

// global is the limit class that all calls but interaction callbacks fall under.
const global = "global"

// api makes calls to the HTTP API through discordgo's session. Every call takes a permit from the Pacer; what the answer
// says about rate limits goes back to it. Nothing is tried again here.
type api struct {
	session *discordgo.Session // never opened; the gateway has sessions of its own
	http    *http.Transport
	pacer   *platforms.Pacer
}

func newAPI(cfg Config, base *url.URL) (*api, error) {
	session, err := discordgo.New("Bot " + cfg.Token)
	if err != nil {
		return nil, err
	}
	pool := &http.Transport{
		DialContext:           cfg.Dial,
		ForceAttemptHTTP2:     true,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second}, // a dead connection is noticed
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: callTimeout,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   16,
	}
	session.LogLevel = -1 // it would print addresses, which hold interaction tokens
	session.MaxRestRetries = 0
	session.ShouldRetryOnRateLimit = false
	session.Client = &http.Client{Timeout: callTimeout, Transport: transport{base: base, next: pool}}
	return &api{session: session, http: pool, pacer: platforms.NewPacer(limitOf)}, nil
}

// limitOf gives the limits that are known beforehand; those of routes come with the answers' headers. Discord allows 50
// requests a second over all; any second of this pace holds at most 50. Reactions are allowed about four a second.
func limitOf(class string) platforms.Limit {
	switch {
	case class == global:
		return platforms.Limit{Every: 25 * time.Millisecond, Burst: 10}
	case strings.HasSuffix(class, "/reactions"):
		return platforms.Limit{Every: 300 * time.Millisecond, Burst: 1}
	default:
		return platforms.Limit{}
	}
}

// request is one call.
type request struct {
	op           string // what is being done, for errors
	method, path string // below the API's base
	class        string // its own limit class; empty = method and path
	free         bool   // not bound to the global limit
	droppable    bool   // better dropped than late: if no permit is free, the call is not made and counts as a success
	priority     platforms.Priority
	repeatable   bool // the call may be made again after an unknown outcome
	body, into   any
}

// call makes one call; an error is a *platforms.Error.
func (a *api) call(ctx context.Context, r request) error {
	if r.class == "" {
		r.class = r.method + " " + r.path
	}
	if admitted, err := a.admit(ctx, r); err != nil || !admitted {
		return err
	}
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return &platforms.Error{Class: platforms.Invalid, Op: "discord " + r.op, Err: err}
		}
	}
	x := &exchange{}
	ctx = httptrace.WithClientTrace(context.WithValue(ctx, exchangeKey{}, x), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { x.connected.Store(true) },
	})
	// A bucket of its own for each call: discordgo would hold a shared one's mutex over the call.
	bucket := &discordgo.Bucket{}
	bucket.Lock()
	raw, err := a.session.RequestWithLockedBucket(r.method, discordgo.EndpointAPI+r.path, "application/json", body, bucket, 0, discordgo.WithContext(ctx))
	a.learn(r, x)
	if err == nil && r.into != nil {
		err = json.Unmarshal(raw, r.into)
	}
	if err != nil {
		return classify(r, x, err)
	}
	return nil
}

// admit waits for a permit; false if the call is to be dropped instead.
func (a *api) admit(ctx context.Context, r request) (bool, error) {
	permit := platforms.Permit{Priority: r.priority, Classes: []string{r.class}}
	if !r.free {
		permit.Classes = append(permit.Classes, global)
	}
	if r.droppable {
		return a.pacer.Try(permit), nil
	}
	if wait := a.frozen(permit); wait > patience {
		return false, &platforms.Error{Class: platforms.RateLimited, Op: "discord " + r.op, Wait: wait, Err: errors.New("still waiting")}
	}
	if err := a.pacer.Take(ctx, permit); err != nil {
		return false, &platforms.Error{Class: platforms.Transient, Op: "discord " + r.op, Err: err}
	}
	return true, nil
}

// frozen returns how long a call would have to wait for a freeze; acks do not.
func (a *api) frozen(permit platforms.Permit) (wait time.Duration) {
	if permit.Priority == platforms.PriorityAck {
		return 0
	}
	for _, class := range permit.Classes {
		if until := a.pacer.Frozen(class); !until.IsZero() {
			wait = max(wait, time.Until(until))
		}
	}
	return wait
}

// learn feeds what the answer says about rate limits back to the Pacer.
func (a *api) learn(r request, x *exchange) {
	now := time.Now()
	if x.exhausted {
		a.pacer.Freeze(r.class, now.Add(x.resetAfter))
	}
	if x.status != http.StatusTooManyRequests {
		return
	}
	class := r.class
	if x.global {
		class = global
	}
	a.pacer.Freeze(class, now.Add(x.retryAfter))
}
