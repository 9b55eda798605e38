package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
)

const (
	// splitAt is the length, in runes, from which on a message looks like the first part of one that the client split.
	splitAt = 1900
	// splitPause and albumPause are how long to wait for the rest of a split message or an album.
	splitPause = 2 * time.Second
	albumPause = 600 * time.Millisecond
)

// enqueue lets a message wait for its turn and, in busy mode interrupt, makes room for it.
func (c *conversation) enqueue(ctx context.Context, in *input) {
	if c.turn != nil && c.answers(ctx, in) {
		return
	}
	if full := c.g.room.enter(in, false); full != "" {
		c.refuse(ctx, in, full)
		return
	}
	if in.busy == "" {
		in.busy = c.busyAt(in.Message.Address, in.sign.accepted)
	}
	in.ready = time.Now().Add(c.pause(in.Message))
	c.queue = append(c.queue, in)
	c.g.log.Debug("queued", "message", in.item, "conversation", c.key, "waiting", len(c.queue))
	switch {
	case c.turn == nil, c.awaited(in):
	case in.busy == Interrupt && c.mayStop(in.Message.Origin) && unworkable([]*input{in}) == "":
		c.turn.cancel(loop.ErrSuperseded)
	default:
		c.g.react(in, "👀")
	}
}

// react puts an emoji on a message, as a sign that it was seen and waits. As well as it can.
func (g *Gateway) react(in *input, emoji string) {
	m := in.Message
	reactor, ok := g.adapters[m.Address.Platform].(platforms.Reactor)
	if !ok {
		return
	}
	g.beside(func(ctx context.Context) {
		if err := reactor.React(ctx, m.Address, m.ID, emoji); err != nil {
			g.log.Debug("a message got no sign that it waits", "message", in.item, "error", err)
			return
		}
		in.sign.shown(g, m.Address.Platform)
	})
}

// pause is how long to wait for more before a turn starts with this message.
func (c *conversation) pause(m *platforms.Message) time.Duration {
	switch {
	case m.Album != "":
		return max(albumPause, c.g.now().Debounce)
	case len([]rune(m.Text)) >= splitAt:
		return max(splitPause, c.g.now().Debounce)
	}
	return c.g.now().Debounce
}

// next starts a turn if one is due.
func (c *conversation) next(ctx context.Context) {
	if c.turn != nil || len(c.queue) == 0 || ctx.Err() != nil {
		return
	}
	inputs := c.together()
	if time.Now().Before(last(inputs).ready) {
		return
	}
	c.queue = slices.DeleteFunc(c.queue, func(in *input) bool { return slices.Contains(inputs, in) })
	if why := unworkable(inputs); why != "" {
		c.g.room.leave(inputs...)
		c.reply(ctx, inputs[0], why)
		for _, in := range inputs[1:] {
			c.settle(ctx, Refused, in.items())
		}
		return
	}
	c.start(newTurn(ctx, c, inputs, nil))
}

// together is those messages of the queue that make the next turn: the first and what the same person wrote right behind
// it, unless each is to have a turn of its own; an album and what the client split always; in mode collect, what stands
// between other people's messages too. What would make the turn longer than the longest message waits for the next.
func (c *conversation) together() []*input {
	first := c.queue[0]
	all, size := []*input{first}, len(first.words())
	for i, in := range c.queue[1:] {
		before := c.queue[i].Message
		adjoins := last(all) == c.queue[i]
		whole := len([]rune(before.Text)) >= splitAt || in.Message.Album != "" && in.Message.Album == first.Message.Album
		collects := first.busy == Collect && in.busy == Collect
		switch same := in.Message.Sender.ID == first.Message.Sender.ID; {
		case same && (collects || adjoins && (whole || first.busy != Queue && in.busy != Queue)):
		case !same && first.busy == Collect:
			continue
		default:
			return all
		}
		if size += len(in.words()); size > longestText {
			return all
		}
		all = append(all, in)
	}
	return all
}

// withdraw ends the messages that wait, without an answer, and returns how many they were. In a shared conversation those
// of other people stay, unless an admin asks.
func (c *conversation) withdraw(ctx context.Context, o platforms.Origin) int {
	before := len(c.queue)
	all := !shared(o.Kind) || c.g.now().Access.Admin(o.Address.Platform, o.Sender.ID)
	c.queue = slices.DeleteFunc(c.queue, func(in *input) bool {
		if !all && in.Message.Sender.ID != o.Sender.ID {
			return false
		}
		c.g.room.leave(in)
		c.settle(ctx, Withdrawn, in.items())
		return true
	})
	return before - len(c.queue)
}

// withdrawn tells a person how many messages were withdrawn.
func withdrawn(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 message that was waiting will not be answered."
	default:
		return fmt.Sprintf("%d messages that were waiting will not be answered.", n)
	}
}

// unworkable says, for the person, why a turn cannot work on these messages; empty if it can.
func unworkable(inputs []*input) string {
	for _, in := range inputs {
		if strings.TrimSpace(in.Message.Text) != "" || slices.ContainsFunc(in.Message.Attachments, fetchable) {
			return ""
		}
	}
	if sent := inputs[0].Message.Attachments; len(sent) > 0 {
		return fmt.Sprintf("I got a %s without any text, and cannot open that. Please say in words what you need.", sent[0].Kind)
	}
	return "I got an empty message. Please write what you need."
}
