package discord

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
)

const (
	maxAnswer  = 32 << 20 // bytes of an answer that are read
	maxProblem = 64 << 10 // bytes of an error's answer
)

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
