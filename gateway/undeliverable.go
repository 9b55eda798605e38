package gateway

import (
	"context"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// undeliverable is mail: the platform will never take a part of this row.
type undeliverable struct {
	row    sessions.RowID
	reason string
}

// undelivered tells a conversation, for good, that one of its answers did not reach its chat: there it cannot be said. What
// was meant for the owner is tried elsewhere.
func (g *Gateway) undelivered(row sessions.Row, out output) {
	if out.Owner {
		g.refusedAtHome(row, out)
		return
	}
	for _, p := range row.Parts {
		if p.State == sessions.Dead {
			g.live.post(row.Key, undeliverable{row: row.ID, reason: p.Error})
			return
		}
	}
}

// noteUndelivered writes down what did not reach the chat, for /status.
func (c *conversation) noteUndelivered(ctx context.Context, u undeliverable) {
	failed := sessions.DeliveryFailed{Row: u.row, Reason: u.reason, At: time.Now()}
	if err := c.commit(ctx, sessions.Record{Entries: []sessions.Entry{failed}}); err != nil {
		c.g.log.Warn("that an answer was not delivered could not be written down", "conversation", c.key, "row", u.row, "error", err)
		c.torn = true
	}
}
