package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/talaria-agent/talaria/platforms"
)

const (
	callTimeout = 30 * time.Second
	maxAnswer   = 32 << 20 // bytes of an answer that are read
	maxProblem  = 64 << 10 // bytes of an error's answer
)

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

// exchange is what the transport saw of one call.
type exchange struct {
	connected  atomic.Bool // a connection was there: the request may have reached Discord
	status     int         // 0 = no answer
	problem    []byte      // body of an answer of status 400 and above
	exhausted  bool        // the route's bucket is empty until resetAfter from now
	resetAfter time.Duration
	retryAfter time.Duration // of a 429
	global     bool          // the 429 stops all calls
}

type exchangeKey struct{}

// transport sends discordgo's requests to the configured address, notes the answer in the call's exchange and takes the
// rate limit headers out, so that nothing but the Pacer ever waits for them.
type transport struct {
	base *url.URL
	next http.RoundTripper
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	u, err := url.Parse(t.base.String() + strings.TrimPrefix(r.URL.String(), discordgo.EndpointAPI))
	if err != nil {
		return nil, errors.New("make the address of the call")
	}
	r = r.Clone(r.Context())
	r.URL, r.Host = u, u.Host
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	x, _ := r.Context().Value(exchangeKey{}).(*exchange)
	if x == nil {
		x = &exchange{}
	}
	if err := x.note(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	for name := range resp.Header {
		if strings.HasPrefix(name, "X-Ratelimit-") {
			resp.Header.Del(name)
		}
	}
	return resp, nil
}

// note reads an answer's status, rate limits and, if it is an error, its body, which the answer then holds again.
func (x *exchange) note(resp *http.Response) error {
	h := resp.Header
	x.status = resp.StatusCode
	x.exhausted = h.Get("X-RateLimit-Remaining") == "0"
	x.resetAfter = seconds(h.Get("X-RateLimit-Reset-After"))
	body := resp.Body
	if resp.StatusCode < 400 {
		resp.Body = readCloser{io.LimitReader(body, maxAnswer), body}
		return nil
	}
	var err error
	if x.problem, err = io.ReadAll(io.LimitReader(body, maxProblem)); err != nil {
		return err
	}
	resp.Body = readCloser{bytes.NewReader(x.problem), body}
	if resp.StatusCode == http.StatusTooManyRequests {
		x.noteLimit(h)
	}
	return nil
}

// noteLimit reads a 429. Discord's own is JSON; Cloudflare's, which bans the address, is not, and stops everything.
func (x *exchange) noteLimit(h http.Header) {
	var said struct {
		RetryAfter float64 `json:"retry_after"`
		Global     bool    `json:"global"`
	}
	x.retryAfter = seconds(h.Get("Retry-After"))
	if err := json.Unmarshal(x.problem, &said); err != nil {
		x.global = true
		x.retryAfter = max(x.retryAfter, time.Minute)
		return
	}
	x.global = said.Global
	if said.RetryAfter > 0 {
		x.retryAfter = time.Duration(said.RetryAfter * float64(time.Second))
	}
	x.retryAfter = max(x.retryAfter, 100*time.Millisecond)
}

func seconds(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 || f > 1e8 {
		return 0
	}
	return time.Duration(f * float64(time.Second))
}

type readCloser struct {
	io.Reader
	io.Closer
}
