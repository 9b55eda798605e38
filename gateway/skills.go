package gateway

import (
	"context"
	"fmt"
)

// Skillbook knows what is written down about how things are done.
type Skillbook interface {
	// Index lists the skills for the prompt, without those that need a tool that is not there; empty = there are none. It is
	// the same text as long as nothing has changed.
	Index(has func(tool string) bool) string
	// Overview lists them for people, with what is wrong with those that cannot be used.
	Overview() string
	// Show returns one of them, for people.
	Show(name string) (text string, ok bool)
}

// cmdSkills lists the skills, or shows one.
func (c *conversation) cmdSkills(ctx context.Context, in *input) {
	book, name := c.g.parts.Skills, argument(in)
	switch {
	case book == nil:
		c.reply(ctx, in, "I have no skills here.")
	case name == "":
		c.reply(ctx, in, book.Overview())
	default:
		text, ok := book.Show(name)
		if !ok {
			text = fmt.Sprintf("There is no skill `%s`. Write `%sskills` to see what there is.", name, sign(in.origin().Address.Platform))
		}
		c.reply(ctx, in, text)
	}
}
