package slack

import (
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/slack-go/slack"

	"github.com/talaria-agent/talaria/platforms"
)

const (
	ackFirst   = time.Second // a button or command not taken by then is acknowledged before it is
	mostQueued = 4096        // envelopes in memory; more are left to Slack's redelivery
	sinkRetry  = 500 * time.Millisecond
	sinkMost   = 30 * time.Second
)

// intake hands updates to the sink: one conversation in order, several in parallel. It outlives connections, so an
// update that the sink refused stays first in its lane across a reconnect.
type intake struct {
	adapter *Adapter
	sink    platforms.Sink

	mu     sync.Mutex
	lanes  map[string][]delivery // waiting, by conversation; an entry exists while its goroutine runs
	queued int
	done   sync.WaitGroup
}

// delivery is one update on its way to the sink.
type delivery struct {
	decoded
	ack func(payload any)
}

func newIntake(a *Adapter, sink platforms.Sink) *intake {
	return &intake{adapter: a, sink: sink, lanes: map[string][]delivery{}}
}

// put queues a delivery; it never waits. It reports false when there are too many.
func (in *intake) put(ctx context.Context, d delivery) bool {
	lane := originOf(d.update).Address.Chat
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.queued >= mostQueued {
		return false
	}
	in.queued++
	waiting, running := in.lanes[lane]
	in.lanes[lane] = append(waiting, d)
	if !running {
		in.done.Go(func() { in.run(ctx, lane) })
	}
	return true
}

// run empties a lane.
func (in *intake) run(ctx context.Context, lane string) {
	for {
		in.mu.Lock()
		waiting := in.lanes[lane]
		if len(waiting) == 0 || ctx.Err() != nil {
			in.queued -= len(waiting)
			delete(in.lanes, lane)
			in.mu.Unlock()
			return
		}
		next := waiting[0]
		in.lanes[lane] = waiting[1:]
		in.mu.Unlock()
		in.deliver(ctx, next)
		in.mu.Lock()
		in.queued--
		in.mu.Unlock()
	}
}

// wait returns when all lanes are empty; the context of put must have ended, or nothing more may be put.
func (in *intake) wait() { in.done.Wait() }

// deliver brings one update to the sink and acknowledges it.
func (in *intake) deliver(ctx context.Context, d delivery) {
	_, pressed := d.update.(*platforms.ButtonPressed)
	_, invoked := d.update.(*platforms.CommandInvoked)
	if !pressed && !invoked {
		in.adapter.names.fill(ctx, originOf(d.update))
		if _, ok := in.commit(ctx, d.update); ok {
			d.ack(nil)
		}
		return
	}
	var once sync.Once
	early := time.AfterFunc(ackFirst, func() { once.Do(func() { d.ack(nil) }) })
	defer early.Stop()
	receipt, ok := in.commit(ctx, d.update)
	if !ok {
		return
	}
	note := receipt.Note
	once.Do(func() {
		if invoked && note != "" { // a command's acknowledgement can carry the note
			d.ack(map[string]any{"response_type": slack.ResponseTypeEphemeral, "text": escape(note)})
			note = ""
			return
		}
		d.ack(nil)
	})
	if note != "" {
		in.adapter.note(ctx, d, note)
	}
}

// commit asks the sink until it takes the update; false means that the context ended first.
func (in *intake) commit(ctx context.Context, u platforms.Update) (platforms.Receipt, bool) {
	retry := backoff.NewExponentialBackOff()
	retry.InitialInterval, retry.MaxInterval = sinkRetry, sinkMost
	for {
		receipt, err := in.sink(ctx, u)
		if err == nil {
			return receipt, true
		}
		if ctx.Err() != nil {
			return receipt, false
		}
		wait := retry.NextBackOff()
		in.adapter.log.Error("an event could not be stored; trying again",
			"event", u.NativeID(), "wait", wait, "error", in.adapter.clean(err))
		if !sleep(ctx, wait) {
			return receipt, false
		}
	}
}

// sleep waits, and reports whether the context is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// note shows a text to the person who pressed a button or used a command, and to nobody else. It may fail: it is a
// courtesy.
func (a *Adapter) note(ctx context.Context, d delivery, text string) {
	o := originOf(d.update)
	op := operation{method: "response_url", priority: platforms.PriorityAck, repeat: true}
	post := func(ctx context.Context) error {
		return slack.PostWebhookCustomHTTPContext(ctx, d.responseURL, a.http, &slack.WebhookMessage{
			Text: escape(text), ResponseType: slack.ResponseTypeEphemeral, ThreadTimestamp: o.Address.Thread,
		})
	}
	if d.responseURL == "" {
		op.method = "chat.postEphemeral"
		post = func(ctx context.Context) error {
			_, err := a.api.PostEphemeralContext(ctx, o.Address.Chat, o.Sender.ID,
				slack.MsgOptionText(text, true), slack.MsgOptionTS(o.Address.Thread))
			return err
		}
	}
	if err := a.call(ctx, op, post); err != nil {
		a.log.Warn("a note to one person was not shown", "error", err)
	}
}

// originOf returns where an update comes from.
func originOf(u platforms.Update) *platforms.Origin {
	switch u := u.(type) {
	case *platforms.Message:
		return &u.Origin
	case *platforms.MessageEdited:
		return &u.Origin
	case *platforms.MessageDeleted:
		return &u.Origin
	case *platforms.ButtonPressed:
		return &u.Origin
	case *platforms.CommandInvoked:
		return &u.Origin
	}
	panic("slack: update of an unknown type") // the set is closed
}
