package gateway

import (
	"context"

	"github.com/talaria-agent/talaria/sessions"
)

// cmdReload builds the prompt anew, so that the next turn sees the context file, the notes and the list of skills as they are now. What runs
// is waited for: its prompt stays as it is. If nothing has changed, the prompt stays in the provider's cache.
func (c *conversation) cmdReload(ctx context.Context, in *input) {
	if c.turn != nil {
		c.after = append(c.after, in)
		return
	}
	s := c.log.snapshot()
	if s.Prompt == nil {
		c.reply(ctx, in, "This session has not begun, so I read everything with your next message anyway.")
		return
	}
	t := newTurn(ctx, c, []*input{in}, nil)
	defer t.cancel(nil)
	entries := t.prompt(s)
	built, _ := entries[len(entries)-1].(sessions.PromptBuilt)
	if built.System == s.Prompt.System {
		c.reply(ctx, in, "I have read the context file, my notes and the list of skills again; nothing has changed.")
		return
	}
	c.reply(ctx, in, "I have read the context file, my notes and the list of skills again, and go by them from now on.", entries...)
}
