package gateway

import (
	"context"
	"fmt"
	"strings"
)

// cmdHelp lists the commands that somebody may use, or shows how to use one.
func (c *conversation) cmdHelp(ctx context.Context, in *input) {
	name := strings.ToLower(strings.TrimLeft(argument(in), "/!"))
	if name == "" {
		c.replyHelp(ctx, in)
		return
	}
	o := in.origin()
	if found := beginning(c.g.allowed(o), name); len(found) == 1 {
		c.reply(ctx, in, found[0].usage(sign(o.Address.Platform)))
		return
	}
	c.reply(ctx, in, c.g.noCommand(o, name))
}

func (c *conversation) replyHelp(ctx context.Context, in *input) {
	o := in.origin()
	s := sign(o.Address.Platform)
	var b strings.Builder
	fmt.Fprintf(&b, "Write to me as you would to a colleague. While I work: %s", c.busy(o.Address).meaning())
	if shared(o.Kind) {
		b.WriteString("; that of somebody else than whoever I work for waits")
	}
	b.WriteString(".\n")
	heading := ""
	for _, cmd := range c.g.allowed(o) {
		if cmd.group != heading {
			heading = cmd.group
			fmt.Fprintf(&b, "\n**%s**\n\n", heading)
		}
		fmt.Fprintf(&b, "- `%s%s` %s\n", s, cmd.name, cmd.help)
	}
	fmt.Fprintf(&b, "\n`%[1]shelp undo` says more about one of them.", s)
	if s == "/" {
		b.WriteString(" The beginning of a name is enough: `/stat`.")
	}
	c.reply(ctx, in, b.String())
}

// usage says how to use a command.
func (c command) usage(sign string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s%s", sign, c.name)
	if c.argument != "" {
		fmt.Fprintf(&b, " [%s]", c.argument)
	}
	fmt.Fprintf(&b, "` %s\n", c.help)
	if len(c.uses) > 0 {
		b.WriteByte('\n')
	}
	return b.String() + choices(sign, c.name, c.uses)
}

// choices lists what can stand behind a command.
func choices(sign, name string, uses []use) string {
	var b strings.Builder
	for _, u := range uses {
		fmt.Fprintf(&b, "- `%s`: %s\n", strings.TrimSpace(sign+name+" "+u.argument), u.meaning)
	}
	return b.String()
}
