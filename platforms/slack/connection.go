package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"github.com/talaria-agent/talaria/platforms"
)

const (
	deafAfter  = 75 * time.Second // without frame or ping; Slack pings more often than every 30 s
	checkEvery = 15 * time.Second
	// A longer silence may have cost an event: Slack sends again what it could not deliver, but only at once, after one
	// minute and after five (docs.slack.dev/apis/events-api), and each of these may fall into the next silence.
	mostSilence = 5 * time.Second
	mostFrame   = 32 << 20 // bytes of one envelope
)

var (
	errOver = errors.New("the connection is over")
	errDeaf = errors.New("nothing was heard from Slack for too long")
)

// ending says how a connection ended.
type ending struct {
	reason string        // what Slack's disconnect message said, if it sent one
	err    error         // nil = nothing but the end
	lived  time.Duration // since Slack's hello; 0 = there was none
}

// refreshed tells whether Slack wanted nothing but a new connection, as it does every few hours.
func (e ending) refreshed() bool {
	return e.err == nil && (e.reason == "refresh_requested" || e.reason == "warning")
}

// cause is what to tell about it.
func (e ending) cause() error {
	switch {
	case e.err == nil && e.reason == "":
		return errors.New("slack closed it")
	case e.err == nil:
		return fmt.Errorf("slack closed it: %s", e.reason)
	case e.reason != "":
		return fmt.Errorf("%s: %w", e.reason, e.err)
	}
	return e.err
}

// connection is one socket. The library would reconnect by itself, at once and whatever the reason; here each of its
// clients may open a single connection, and Run decides about the next.
type connection struct {
	adapter *Adapter
	decoder decoder
	intake  *intake
	client  *socketmode.Client
	tap     *tap
	ctx     context.Context // of Run: for deliveries, which outlive the connection
	opened  time.Time
	heard   time.Time // the last sign of life before
	hello   time.Time
}

// connect runs one connection until it ends.
func (a *Adapter) connect(ctx context.Context, d decoder, in *intake) ending {
	op := operation{method: "apps.connections.open", priority: platforms.PriorityLookup, repeat: true}
	permit := platforms.Permit{Priority: op.priority, Classes: op.classes()}
	if err := a.pacer.Take(ctx, permit); err != nil {
		return ending{err: err}
	}
	dialer := &websocket.Dialer{
		Proxy:            http.ProxyFromEnvironment,
		HandshakeTimeout: dialTimeout,
		WriteBufferSize:  32 << 10, // Slack loses an answer that comes in several frames
		NetDialContext:   a.cfg.Dial,
	}
	if a.cfg.Dial != nil {
		dialer.Proxy = nil
	}
	c := &connection{
		adapter: a, decoder: d, intake: in, ctx: ctx, tap: &tap{alive: &a.alive}, opened: time.Now(), heard: a.LastAlive(),
	}
	c.client = socketmode.New(a.client(&once{do: a.http.Do}),
		socketmode.OptionDialer(dialer), socketmode.OptionReadLimit(mostFrame),
		socketmode.OptionDebug(true), socketmode.OptionLog(c.tap))
	end := c.run(ctx)
	if platforms.ClassOf(end.err) == platforms.RateLimited {
		a.pacer.Freeze(op.slowed(), time.Now().Add(platforms.WaitOf(end.err)))
	}
	return end
}

// run reads the library's events until its client has ended.
func (c *connection) run(ctx context.Context) ending {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := make(chan error, 1)
	go func() { ended <- c.client.RunContext(ctx) }()
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	for {
		select {
		case e := <-c.client.Events:
			if err := c.handle(ctx, e); err != nil {
				stop(err)
			}
		case <-check.C:
			if time.Since(c.opened) > deafAfter && time.Since(c.adapter.LastAlive()) > deafAfter {
				stop(errDeaf)
			}
		case err := <-ended:
			return c.finish(ctx, err)
		}
	}
}

// finish takes what the library still holds and says why the connection ended. What was received counts, although it
// cannot be acknowledged any more: Slack sends it again, and the sink knows it by then.
func (c *connection) finish(ctx context.Context, err error) ending {
	for {
		select {
		case e := <-c.client.Events:
			_ = c.handle(ctx, e)
			continue
		default:
		}
		break
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	end := ending{reason: c.tap.reason(), err: err}
	if !c.hello.IsZero() {
		end.lived = time.Since(c.hello)
	}
	var known *platforms.Error
	switch {
	case end.reason == "link_disabled":
		end.err = &platforms.Error{
			Class: platforms.Fatal, Op: "slack socket mode",
			Err: errors.New(socketModeOff),
		}
	case errors.Is(err, errOver):
		end.err = nil
	case errors.As(err, &known), errors.Is(err, errDeaf), err == nil:
	default:
		end.err = c.adapter.classify("apps.connections.open", err, false)
	}
	return end
}

// handle takes one event of the library; an error ends the connection.
func (c *connection) handle(ctx context.Context, e socketmode.Event) error {
	switch e.Type {
	case socketmode.EventTypeHello:
		c.hello = time.Now()
		if c.hello.Sub(c.heard) > mostSilence {
			c.adapter.fresh.Add(1)
		}
		c.adapter.link.Connected(fmt.Sprintf("@%s in %s", c.decoder.text.name, c.decoder.team))
	case socketmode.EventTypeConnectionError:
		failed, _ := e.Data.(*slack.ConnectionErrorEvent)
		if failed == nil || errors.Is(failed.ErrorObj, errOver) {
			return errOver
		}
		return c.adapter.classify("apps.connections.open", failed.ErrorObj, false)
	case socketmode.EventTypeEventsAPI, socketmode.EventTypeInteractive, socketmode.EventTypeSlashCommand:
		return c.take(ctx, envelope{ID: e.Request.EnvelopeID, Type: e.Request.Type, Payload: e.Request.Payload})
	case socketmode.EventTypeErrorBadMessage: // what the library does not know it does not acknowledge
		bad, _ := e.Data.(*socketmode.ErrorBadMessage)
		var env envelope
		if bad == nil || json.Unmarshal(bad.Message, &env) != nil || env.ID == "" {
			c.adapter.ignore("frame", "no envelope")
			return nil
		}
		return c.take(ctx, env)
	}
	return nil
}

// take decodes an envelope and queues it for the sink, or acknowledges what is nothing for us. An error ends the
// connection.
func (c *connection) take(ctx context.Context, e envelope) error {
	ack := func(payload any) {
		if err := c.client.AckCtx(ctx, e.ID, payload); err != nil && ctx.Err() == nil {
			c.adapter.log.Warn("an acknowledgement was not sent", "error", c.adapter.clean(err))
		}
	}
	d := c.decoder.decode(e)
	switch {
	case d.revoked:
		return &platforms.Error{
			Class: platforms.Fatal, Op: "slack socket mode",
			Err: errors.New("the app was uninstalled or its token revoked; install it again and use the new token"),
		}
	case d.unknown != "":
		c.adapter.ignore(d.unknown, d.why)
		ack(nil)
	case d.update == nil:
		ack(nil)
	case !c.intake.put(c.ctx, delivery{decoded: d, ack: ack}):
		c.adapter.log.Error("too many undelivered events; leaving one to be sent again", "event", d.update.NativeID())
	}
	return nil
}

// once is an HTTP client that makes a single request.
type once struct {
	do   func(*http.Request) (*http.Response, error)
	used atomic.Bool
}

func (o *once) Do(r *http.Request) (*http.Response, error) {
	if o.used.Swap(true) {
		return nil, errOver
	}
	return o.do(r)
}
