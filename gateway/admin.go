package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/platforms"
)

// Supervised tells the gateway that something starts the program again when Run has ended, so that admins may end it. It
// comes before Run.
func (g *Gateway) Supervised() { g.supervised = true }

// cmdRestart has Run end as at a shutdown, once that is written down: the same message does not do it twice.
func (c *conversation) cmdRestart(ctx context.Context, in *input) {
	if !c.g.supervised {
		c.reply(ctx, in, "Nothing would start me again, so I go on.")
		return
	}
	c.reply(ctx, in, "I end now, and am back when whatever watches over me has started me again. What I work on goes on then.")
	if !c.torn {
		c.g.log.Info("an admin restarts the program", "conversation", c.key, "message", in.item)
		c.g.end()
	}
}

// cmdUsers lists who may talk to the bot. It does so only where nobody else reads it.
func (c *conversation) cmdUsers(ctx context.Context, in *input) {
	if in.origin().Kind != platforms.Direct {
		c.reply(ctx, in, "Please ask me in a direct message: others read along here.")
		return
	}
	access := c.g.now().Access
	var b strings.Builder
	b.WriteString("Who may talk to me, by the lists of the config:\n")
	names := make([]platforms.Name, 0, len(c.g.adapters))
	for name := range c.g.adapters {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "\n**%s**\n\n", title(name))
		fmt.Fprintf(&b, "- Users: %s\n", listed(access.Users[name], "everybody", "nobody but admins"))
		fmt.Fprintf(&b, "- Groups and channels: %s\n", listed(access.Chats[name], "all", "none, only direct messages"))
		fmt.Fprintf(&b, "- Admins: %s\n", listed(access.Admins[name], "nobody", "nobody"))
	}
	c.reply(ctx, in, b.String())
}

// listed writes a list of ids for people.
func listed(ids []string, anyone, nobody string) string {
	if slices.Contains(ids, Anyone) {
		return anyone
	}
	if len(ids) == 0 {
		return nobody
	}
	return "`" + strings.Join(ids, "`, `") + "`"
}
