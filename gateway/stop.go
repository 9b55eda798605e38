package gateway

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// closing withdraws what waits and stops the running turn. It reports whether the command has to wait for the turn's end;
// it comes back then.
func (c *conversation) closing(ctx context.Context, in *input) bool {
	switch {
	case in.stopped:
		return false
	case c.turn == nil:
		in.withdrawn = c.withdraw(ctx, in.origin())
		return false
	case !c.mayStop(in.origin()):
		c.reply(ctx, in, "I am working for somebody else here. Only that person or an admin can stop me.")
		return true
	}
	in.withdrawn, in.stopped = c.withdraw(ctx, in.origin()), true
	c.turn.cancel(loop.ErrStopped)
	c.after = append(c.after, in)
	return true
}

func (c *conversation) cmdStop(ctx context.Context, in *input) {
	o := in.origin()
	all := strings.EqualFold(argument(in), "all")
	if all && !in.stopped && !c.mayStop(o) {
		c.reply(ctx, in, c.endBackground(o))
		return
	}
	if c.closing(ctx, in) {
		return
	}
	var background string
	if all {
		background = c.endBackground(o)
	} else {
		background = c.goOn(o.Address.Platform)
	}
	switch {
	case in.stopped:
		c.reply(ctx, in, sentences(in.closing, withdrawn(in.withdrawn), background))
	case c.stopFlush() || in.withdrawn > 0:
		c.reply(ctx, in, sentences("Stopped.", withdrawn(in.withdrawn), background))
	case all:
		c.reply(ctx, in, background)
	default:
		c.reply(ctx, in, sentences("I am not doing anything right now.", background))
	}
}

func (c *conversation) cmdNew(ctx context.Context, in *input) {
	if c.closing(ctx, in) {
		return
	}
	left := c.log.snapshot()
	c.reply(ctx, in, sentences("New session.", withdrawn(in.withdrawn), c.goOn(in.origin().Address.Platform), "What can I do for you?"),
		sessions.Reset{By: in.origin().Sender.ID, At: time.Now(), Approvals: left.Forever(), Settings: left.Settings})
	c.flushLeft(left, in)
}

// sentences joins what is not empty.
func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}
