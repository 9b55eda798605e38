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
	again := newBackOff()
	for {
		batch, err := p.poll(ctx)
		if err != nil {
			return err
		}
		pause.Reset()
		p.living()
		if err := p.take(ctx, batch); err == nil {
			again.Reset()
		} else if !sleep(ctx, again.NextBackOff()) {
			return ctx.Err()
		}
	}
}

// poll asks for the updates from the offset on, which confirms those before it.
func (p *poller) poll(ctx context.Context) ([]json.RawMessage, error) {
	var batch []json.RawMessage
	err := p.api.do(ctx, call{
		method: "getUpdates",
		params: tgbotapi.Params{
			"offset":          strconv.FormatInt(p.offset, 10),
			"timeout":         strconv.Itoa(int(pollTimeout.Seconds())),
			"allowed_updates": allowedUpdates,
		},
		permit:  platforms.Permit{Priority: platforms.PriorityLookup, Classes: []string{methodClass + "getUpdates"}},
		timeout: pollTimeout + pollGrace,
	}, &batch)
	return batch, err
}

// take hands a batch to the sink. An update that cannot be stored is asked for again with all behind it, because one offset
// holds for all chats. What is behind it from other chats is handed over all the same: it may be possible to store it, and
// if not its people get to know. Within a chat nothing overtakes anything.
func (p *poller) take(ctx context.Context, batch []json.RawMessage) (failed error) {
	held := map[int64]bool{}
	for _, raw := range batch {
		var u update
		if err := json.Unmarshal(raw, &u); err != nil {
			var head struct {
				ID int64 `json:"update_id"`
			}
			_ = json.Unmarshal(raw, &head)
			u = update{ID: head.ID}
			p.ignore("unreadable", err)
		} else if chat := u.chat(); held[chat] {
			continue
		} else if err := p.deliver(ctx, &u, raw); err != nil {
			if failed == nil && ctx.Err() == nil {
				p.log.Error("an update could not be stored; trying again", "update", u.ID, "error", err)
			}
			failed, held[chat] = err, true
		}
		if failed == nil {
			p.offset = max(p.offset, u.ID+1)
		}
	}
	return failed
}

// chat returns the id of the chat that an update is from, 0 if it is from none.
func (u *update) chat() int64 {
	var m *message
	switch {
	case u.Message != nil:
		m = u.Message
	case u.EditedMessage != nil:
		m = u.EditedMessage
	case u.CallbackQuery != nil:
		m = u.CallbackQuery.Message
	}
	if m == nil {
		return 0
	}
	return m.Chat.ID
}

// deliver hands an update to the sink, if it is of use here.
func (p *poller) deliver(ctx context.Context, u *update, raw json.RawMessage) error {
	d := decoder{account: p.account, self: p.self}
	var m platforms.Update
	skip := ""
	switch {
	case u.Message != nil && d.migrated(u.Message) != nil:
		m = d.migrated(u.Message)
	case u.Message != nil:
		m, skip = d.message(u.Message)
	case u.EditedMessage != nil:
		m, skip = d.edited(u.EditedMessage)
	case u.CallbackQuery != nil:
		return p.press(ctx, d, u.CallbackQuery)
	default:
		skip = kindOf(raw)
	}
	if skip != "" {
		p.ignore(skip, nil)
		return nil
	}
	_, err := p.sink(ctx, m)
	return err
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
