package telegram

import (
	"context"
	"strconv"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/talaria-agent/talaria/platforms"
)

const (
	ackWithin = time.Second // a button is acknowledged after this, even if the sink is still busy
	maxNote   = 200         // characters of a note (core.telegram.org/bots/api#answercallbackquery)
)

// press delivers a button press. The person's client shows a spinner until it is acknowledged, which therefore happens
// at once after the commit, with what the sink wants shown, or before it if the sink is slow.
func (p *poller) press(ctx context.Context, d decoder, q *callbackQuery) error {
	receipt := make(chan platforms.Receipt, 1)
	p.acks.Go(func() { p.acknowledge(ctx, q.ID, receipt) })
	if q.Message == nil || q.Data == "" {
		p.ignore("callback_query without message or data", nil)
		receipt <- platforms.Receipt{}
		return nil
	}
	r, err := p.sink(ctx, d.press(q))
	if err == nil {
		receipt <- r
	}
	return err
}

// acknowledge answers a button press. A failure is only logged: the press itself is safe, and a repetition would come
// too late to be seen.
func (p *poller) acknowledge(ctx context.Context, id string, receipt <-chan platforms.Receipt) {
	late := time.NewTimer(ackWithin)
	defer late.Stop()
	var note string
	select {
	case r := <-receipt:
		note = r.Note
	case <-late.C:
	case <-ctx.Done():
		return
	}
	if runes := []rune(note); len(runes) > maxNote {
		note = string(runes[:maxNote-1]) + "…"
	}
	params := tgbotapi.Params{"callback_query_id": id}
	params.AddNonEmpty("text", note)
	err := p.api.do(ctx, call{
		method: "answerCallbackQuery",
		params: params,
		permit: methodPermit("answerCallbackQuery", platforms.PriorityAck),
	}, nil)
	if err != nil && ctx.Err() == nil {
		p.log.Warn("a button press could not be acknowledged", "error", err)
	}
}

// press turns a callback query into an update. Its message is ours; if it is too old, only its chat and id are known.
func (d decoder) press(q *callbackQuery) *platforms.ButtonPressed {
	m := q.Message
	origin := d.origin(m)
	origin.Sender = person(&q.From)
	return &platforms.ButtonPressed{
		Origin:    origin,
		Native:    d.native("cb", q.ID),
		MessageID: strconv.Itoa(m.MessageID),
		Data:      q.Data,
	}
}
