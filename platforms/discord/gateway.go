package discord

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/talaria-agent/talaria/platforms"
)

const (
	// sessionReserve is the number of session starts that are left alone: after the last one of a day Discord resets
	// the bot's token.
	sessionReserve = 50
	// settled is how long a connection has to stand for its successor to be tried without much delay.
	settled = time.Minute
)

// sessionStart is the answer of GET /gateway/bot.
type sessionStart struct {
	URL   string `json:"url"`
	Limit struct {
		Total      int   `json:"total"`
		Remaining  int   `json:"remaining"`
		ResetAfter int64 `json:"reset_after"` // milliseconds
	} `json:"session_start_limit"`
}

func (a *Adapter) sessionStart(ctx context.Context) (sessionStart, error) {
	var s sessionStart
	err := a.api.call(ctx, request{op: "ask for the gateway", method: http.MethodGet, path: "gateway/bot", priority: platforms.PriorityLookup, repeatable: true, into: &s})
	return s, err
}

// listen keeps the bot connected until the context ends (nil) or a fault that only the operator can cure.
func (a *Adapter) listen(ctx context.Context, lanes *lanes) error {
	pause := newPause()
	var l *link
	for {
		if !lanes.awaitRoom(ctx) {
			return nil
		}
		a.link.Connecting()
		began := time.Now()
		err := a.connect(ctx, &l, lanes)
		if ctx.Err() != nil {
			return nil
		}
		if fatal := fatalEnd(err); fatal != nil {
			return fatal
		}
		if time.Since(began) > settled {
			pause.Reset()
		}
		wait := max(pause.NextBackOff(), time.Second, platforms.WaitOf(err)) // discordgo's own end of a connection takes up to a second
		if l != nil && !l.canResume(err) {
			l = nil
			wait += rand.N(4 * time.Second) // after op 9 Discord wants one to five seconds
		}
		if !errors.Is(err, errReconnect) { // which happens every few hours
			a.link.Lost(err, wait)
		}
		if !sleep(ctx, wait) {
			return nil
		}
	}
}

// connect keeps one connection, of the session if there is one, else of a new one.
func (a *Adapter) connect(ctx context.Context, l **link, lanes *lanes) error {
	if *l == nil {
		gateway, err := a.permission(ctx)
		if err != nil {
			return err
		}
		if *l, err = a.newLink(gateway, lanes); err != nil {
			return err
		}
	}
	return (*l).keep(ctx)
}

// permission waits until a new session may be started and returns where.
func (a *Adapter) permission(ctx context.Context) (*url.URL, error) {
	for {
		start, err := a.sessionStart(ctx)
		if err != nil {
			return nil, err
		}
		if start.Limit.Total > 0 && start.Limit.Remaining < sessionReserve {
			wait := max(time.Duration(start.Limit.ResetAfter)*time.Millisecond, time.Minute)
			a.log.Warn("too many connections today; waiting, so that the token is not reset", "left", start.Limit.Remaining, "wait", wait)
			if !sleep(ctx, wait) {
				return nil, context.Cause(ctx)
			}
			continue
		}
		address := a.cfg.GatewayURL
		if address == "" {
			address = start.URL
		}
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("the gateway address %q cannot be used", address)
		}
		return u, nil
	}
}

// resumeAttempts is how often a session is tried again before a new one is started.
const resumeAttempts = 5

// canResume tells whether the session outlived the end of its connection. That a connection could not be made at all
// says nothing about the session.
func (l *link) canResume(end error) bool {
	var closed closedError
	switch {
	case errors.Is(end, errInvalid), errors.Is(end, errStuck):
		return false
	case errors.As(end, &closed):
		switch closed.code {
		case 1000, 1001, 4003, 4005, 4007, 4009:
			return false
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun && l.attempts < resumeAttempts
}

// fatalEnd tells whether only the operator can cure what ended the connection.
func fatalEnd(err error) error {
	if platforms.ClassOf(err) == platforms.Fatal {
		return err
	}
	var closed closedError
	if !errors.As(err, &closed) {
		return nil
	}
	var what string
	switch closed.code {
	case 4004:
		what = tokenRefused
	case 4010, 4011:
		what = "the bot is in too many servers for one connection"
	case 4012:
		what = "this version of the gateway is no longer served; update Talaria"
	case 4013:
		what = "the intents are not valid; update Talaria"
	case 4014:
		what = "enable the Message Content intent in the developer portal (Bot, Privileged Gateway Intents)"
	default:
		return nil
	}
	return &platforms.Error{Class: platforms.Fatal, Op: "discord connect", Err: fmt.Errorf("%s: %w", what, closed)}
}

// newPause grows from a second to a minute, with jitter.
func newPause() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.MaxInterval = time.Second, 2, time.Minute
	return b
}

// sleep waits; false if the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
