package telegram

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/talaria-agent/talaria/platforms"
)

// poller is one Run: it asks for updates and hands them to the sink.
type poller struct {
	*Adapter
	sink   platforms.Sink
	self   tgbotapi.User
	offset int64 // the first update that is not yet confirmed
	acks   sync.WaitGroup
}

// Run polls until the context ends or the token turns out to be invalid.
func (a *Adapter) Run(ctx context.Context, sink platforms.Sink) error {
	p := &poller{Adapter: a, sink: sink}
	defer a.api.rest()
	defer p.acks.Wait()
	if err := p.persist(ctx, p.identify); err != nil {
		return fatalOnly(err)
	}
	return fatalOnly(p.persist(ctx, p.forever))
}

// persist repeats a step with growing pauses until it succeeds, fails for good, or the context ends.
func (p *poller) persist(ctx context.Context, step func(context.Context, *backoff.ExponentialBackOff) error) error {
	pause := newBackOff()
	for {
		p.link.Connecting()
		err := step(ctx, pause)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if platforms.ClassOf(err) == platforms.Fatal {
			return err
		}
		p.api.transport.CloseIdleConnections() // a connection that has gone deaf is not used again
		wait := max(pause.NextBackOff(), platforms.WaitOf(err))
		p.link.Lost(err, wait)
		if !sleep(ctx, wait) {
			return ctx.Err()
		}
	}
}

func (p *poller) identify(ctx context.Context, _ *backoff.ExponentialBackOff) error {
	me, err := p.getMe(ctx)
	p.self = me
	return err
}

// forever polls until something fails. Every answered poll is evidence of life and ends the trouble.
func (p *poller) forever(ctx context.Context, pause *backoff.ExponentialBackOff) error {
	for {
		batch, err := p.poll(ctx)
		if err != nil {
			return err
		}
		pause.Reset()
		p.living()
		for _, raw := range batch {
			if !p.handle(ctx, raw) {
				return ctx.Err()
			}
		}
	}
}

// poll asks for the updates from the offset on, which confirms those before it.
func (p *poller) poll(ctx context.Context) ([]json.RawMessage, error) {
	var batch []json.RawMessage
	err := p.api.do(ctx, call{
		method: "getUpdates",
		params: tgbotapi.Params{
			"offset":  strconv.FormatInt(p.offset, 10),
			"timeout": strconv.Itoa(int(pollTimeout.Seconds())),
			// Always sent: the server remembers an earlier list.
			"allowed_updates": `["message","edited_message","callback_query"]`,
		},
		permit:  platforms.Permit{Priority: platforms.PriorityLookup, Classes: []string{methodClass + "getUpdates"}},
		timeout: pollTimeout + pollGrace,
	}, &batch)
	return batch, err
}

// handle delivers one update and then moves the offset past it. It returns false if the context ended before that: the
// update will come again.
func (p *poller) handle(ctx context.Context, raw json.RawMessage) bool {
	var u update
	err := json.Unmarshal(raw, &u)
	if err != nil {
		var head struct {
			ID int64 `json:"update_id"`
		}
		_ = json.Unmarshal(raw, &head)
		u = update{ID: head.ID}
		p.ignore("unreadable", err)
	} else if !p.deliver(ctx, &u, raw) {
		return false
	}
	p.offset = max(p.offset, u.ID+1)
	return true
}

// deliver hands an update to the sink, if it is of use here.
func (p *poller) deliver(ctx context.Context, u *update, raw json.RawMessage) bool {
	d := decoder{account: p.account, self: p.self}
	switch {
	case u.Message != nil && d.migrated(u.Message) != nil:
		_, ok := p.commit(ctx, d.migrated(u.Message))
		return ok
	case u.Message != nil:
		m, skip := d.message(u.Message)
		if skip != "" {
			p.ignore(skip, nil)
			return true
		}
		_, ok := p.commit(ctx, m)
		return ok
	case u.EditedMessage != nil:
		m, skip := d.edited(u.EditedMessage)
		if skip != "" {
			p.ignore(skip, nil)
			return true
		}
		_, ok := p.commit(ctx, m)
		return ok
	case u.CallbackQuery != nil:
		return p.press(ctx, d, u.CallbackQuery)
	default:
		p.ignore(kindOf(raw), nil)
		return true
	}
}

// commit gives an update to the sink until it takes it. Later updates wait: the order is kept, and a sink that fails
// is a store in trouble, which concerns them all.
func (p *poller) commit(ctx context.Context, u platforms.Update) (platforms.Receipt, bool) {
	pause := newBackOff()
	for {
		receipt, err := p.sink(ctx, u)
		if err == nil {
			return receipt, true
		}
		p.log.Error("an update could not be stored; trying again", "update", u.NativeID(), "error", err)
		if !sleep(ctx, pause.NextBackOff()) {
			return platforms.Receipt{}, false
		}
	}
}

// living notes a sign of life.
func (p *poller) living() {
	p.mu.Lock()
	p.alive = time.Now()
	p.mu.Unlock()
	p.link.Connected("@" + p.self.UserName)
}

// newBackOff grows from about one second to half a minute.
func newBackOff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = time.Second
	b.Multiplier = 2
	b.MaxInterval = 30 * time.Second
	return b
}

// sleep waits and tells whether the context is still alive.
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

// fatalOnly drops the error of an ended context.
func fatalOnly(err error) error {
	if platforms.ClassOf(err) == platforms.Fatal {
		return err
	}
	return nil
}

// kindOf names the kind of an update that is not known here: its one field besides the id.
func kindOf(raw json.RawMessage) string {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields)
	for name := range fields {
		if name != "update_id" {
			return name
		}
	}
	return "empty"
}
