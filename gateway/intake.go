package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/markup"
	"github.com/talaria-agent/talaria/sessions"
)

const (
	longestText  = 256 << 10 // of a message that is worked on, and of all that make one turn, in bytes
	longestQuote = 1000      // of what is kept of a quoted message, in bytes
)

// sink is the way in for every update: admit or refuse, make durable, wake the conversation. It returns when the
// update may be acknowledged.
func (g *Gateway) sink(ctx context.Context, u platforms.Update) (platforms.Receipt, error) {
	switch u := u.(type) {
	case *platforms.Message:
		return platforms.Receipt{}, g.message(ctx, u)
	case *platforms.ButtonPressed:
		return g.button(ctx, u)
	case *platforms.CommandInvoked:
		return g.nativeCommand(ctx, u)
	case *platforms.MessageEdited:
		return platforms.Receipt{}, g.edited(ctx, u)
	case *platforms.MessageDeleted:
		return platforms.Receipt{}, g.deleted(ctx, u)
	case *platforms.ChatMigrated:
		return platforms.Receipt{}, g.migrated(ctx, u.From, u.To)
	}
	return platforms.Receipt{}, nil
}

// message admits a message.
func (g *Gateway) message(ctx context.Context, m *platforms.Message) error {
	if m.Sender.Bot {
		return nil
	}
	d := g.admit(m.Origin)
	if !d.Admitted {
		g.refuse(m, d)
		return nil
	}
	key := g.key(m.Origin)
	addressed, err := g.addressed(ctx, key, m)
	if err != nil || !addressed {
		return err
	}
	g.places.visit(m.Address)
	in := bounded(m)
	if most := g.now().MaxAge; most > 0 && time.Since(m.At) > most && in.Refused == "" {
		in.Refused = fmt.Sprintf("I was away, and what is older than %s I do not answer. Please send it again if it still matters.", short(most))
	}
	return g.accept(ctx, key, m.NativeID(), in)
}

// bounded is what is kept of a message: of one that is too long a beginning and why it is refused, and of somebody
// else's words, which it may quote, no more than the model will see.
func bounded(m *platforms.Message) input {
	short := *m
	in := input{Message: &short}
	if len(m.Text) > longestText {
		in.Refused = fmt.Sprintf("That message is too long (%d KiB; at most %d KiB). Please send a shorter one.", len(m.Text)>>10, longestText>>10)
		short.Text = clip(m.Text, 200)
	}
	if m.Quoted != nil {
		quote := *m.Quoted
		quote.Text = clip(quote.Text, longestQuote)
		short.Quoted = &quote
	}
	return in
}

// addressed tells whether a message is for the bot.
func (g *Gateway) addressed(ctx context.Context, key sessions.Key, m *platforms.Message) (bool, error) {
	d, err := g.rules().addressed(ctx, key, m)
	return d.Admitted, err
}

// accept makes an update durable and wakes its conversation. One that was accepted before is done already.
func (g *Gateway) accept(ctx context.Context, key sessions.Key, id string, in input) error {
	fresh, err := g.keep(ctx, key, id, &in)
	if fresh {
		g.live.post(key, &in)
	}
	return err
}

// keep is accept without waking the conversation. It reports whether the update is there and was not before.
func (g *Gateway) keep(ctx context.Context, key sessions.Key, id string, in *input) (fresh bool, err error) {
	payload, err := in.encode()
	if err != nil {
		return false, err
	}
	item := sessions.Item{ID: sessions.ItemID(id), Key: key, Payload: payload, At: time.Now()}
	if err := sessions.Validate(sessions.Accept{Item: item}); err != nil {
		g.log.Error("an update that cannot be stored is passed over", "error", err)
		return false, nil
	}
	first := g.tally.begin(&item)
	_, err = g.store.Commit(context.WithoutCancel(ctx), sessions.Accept{Item: item})
	if errors.Is(err, sessions.ErrSeen) {
		g.cameAgain(ctx, item, first)
		return false, nil
	}
	if err != nil { // it may be there, and then nobody accepts it a second time
		g.live.post(key, unsure{})
		g.sayUnable(in, err, false)
		return false, fmt.Errorf("accept %s: %w", id, err)
	}
	if since := g.full.Swap(0); since != 0 {
		g.log.Info("there is room on the disk again", "full_for", time.Since(time.Unix(0, since)).Round(time.Second))
		g.wasFull(time.Unix(0, since))
	}
	g.counted(item)
	g.log.Info("accepted", "message", id, "conversation", key)
	in.accepted(item)
	g.errands.add(key, in)
	return true, nil
}

// cameAgain counts an update that is in the store already if an attempt since a time has put it there, of which nobody
// knew. If its conversation has dealt with it by now, that has found and counted it.
func (g *Gateway) cameAgain(ctx context.Context, item sessions.Item, since time.Time) {
	g.log.Debug("update came again", "message", item.ID)
	if since.Equal(item.At) { // there was none
		g.tally.drop(item.ID)
		return
	}
	stored, err := g.store.Item(ctx, item.ID)
	switch {
	case err == nil:
		g.counted(stored.Item)
	case errors.Is(err, sessions.ErrState):
		g.tally.drop(item.ID)
	}
}

// counted counts an update that is in the store, unless it was counted before.
func (g *Gateway) counted(item sessions.Item) {
	if g.tally.settle(item) {
		g.observe(Accepted{Platform: platformOf(item.Key)})
	}
}

// sayUnable tells a person, once in a while, that nothing can be done for him because the store is in trouble. If his
// message was not taken the platform may repeat it when that is over, or may not.
func (g *Gateway) sayUnable(in *input, err error, taken bool) {
	text := ""
	switch {
	case errors.Is(err, sessions.ErrFull) && taken:
		text = "I have your message, but my disk is full. I will answer when there is room again."
	case errors.Is(err, sessions.ErrFull):
		g.full.CompareAndSwap(0, time.Now().UnixNano())
		text = "I cannot take your message now, because my disk is full. If I have not answered when there is room again, please send it again."
	case errors.Is(err, sessions.ErrCorrupt):
		text = "I cannot take your message now, because my database is damaged. The owner has to repair it (`talaria sessions repair`). Please send it again then."
	}
	if text == "" || in.Message == nil || in.Errand != nil || !g.unable.first(in.Message.Address.String()) {
		return
	}
	at, native := in.Message.Address, in.Message.Native
	g.beside(func(ctx context.Context) {
		if _, err := g.adapters[at.Platform].Send(ctx, g.moves.now(at), platforms.Outgoing{Text: text, Key: "unable-" + native}); err != nil {
			g.log.Warn("could not tell that a message was not taken", "error", err)
		}
	})
}

// nativeCommand admits a native command. Where it was used outside any conversation, the answer goes with the
// acknowledgement.
func (g *Gateway) nativeCommand(ctx context.Context, c *platforms.CommandInvoked) (platforms.Receipt, error) {
	if d := g.admit(c.Origin); !d.Admitted {
		g.stranger(c.Origin, d)
		return platforms.Receipt{Note: markup.Plain(refusal(c.Sender, c.Address.Platform))}, nil
	}
	if c.Kind == platforms.Thread && c.Address.Thread == "" {
		return platforms.Receipt{Note: "Commands work inside a thread. Open the thread and write !" + c.Name + " there."}, nil
	}
	return platforms.Receipt{}, g.accept(ctx, g.key(c.Origin), c.NativeID(), input{Command: c})
}

// refuse answers a stranger's direct message once, and is silent elsewhere. Nothing is stored.
func (g *Gateway) refuse(m *platforms.Message, d Decision) {
	if m.Kind != platforms.Direct && !m.Mentioned {
		return
	}
	if !g.stranger(m.Origin, d) || m.Kind != platforms.Direct {
		return
	}
	g.beside(func(ctx context.Context) {
		out := platforms.Outgoing{Text: refusal(m.Sender, m.Address.Platform), Key: m.Native}
		if _, err := g.adapters[m.Address.Platform].Send(ctx, m.Address, out); err != nil {
			g.log.Warn("could not tell a stranger", "error", err)
		}
	})
}

// stranger counts somebody who is refused, and logs it unless he was refused there lately. It reports whether he was not.
func (g *Gateway) stranger(o platforms.Origin, d Decision) bool {
	g.observe(Stranger{Platform: o.Address.Platform})
	if !g.strangers.first(string(o.Address.Platform) + "/" + o.Sender.ID + "/" + o.Address.Chat) {
		return false
	}
	g.log.Info("refused", "platform", o.Address.Platform, "chat", o.Address.Chat, "user", o.Sender.ID, "rule", d.Rule)
	return true
}

// refusal is what a stranger gets to read: it names what the owner would have to add.
func refusal(who platforms.Person, p platforms.Name) string {
	return fmt.Sprintf("Sorry, I only talk to people on my list. Your id is `%s`. If you should be on it, ask the owner to add `%s:%s` to `access.users`.", who.ID, p, who.ID)
}

// clip shortens a text to at most n bytes, at a rune's border.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
