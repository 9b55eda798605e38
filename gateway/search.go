package gateway

import (
	"context"
	"fmt"

	"github.com/talaria-agent/talaria/sessions"
)

// Searcher finds what was said in the past of a conversation.
type Searcher interface {
	// Find returns the best matches with what stands around them, for people; Markdown.
	Find(ctx context.Context, key sessions.Key, query string) (string, error)
}

// cmdSearch looks for words in all sessions of the conversation.
func (c *conversation) cmdSearch(ctx context.Context, in *input) {
	query := argument(in)
	switch {
	case c.g.parts.Search == nil:
		c.reply(ctx, in, "I cannot search our past here.")
		return
	case query == "":
		c.reply(ctx, in, fmt.Sprintf("Write some characteristic words behind the command: `%ssearch certificate billing`.", sign(in.origin().Address.Platform)))
		return
	}
	text, err := c.g.parts.Search.Find(ctx, c.key, query)
	if err != nil {
		c.unread(ctx, in, err)
		return
	}
	c.reply(ctx, in, text)
}
