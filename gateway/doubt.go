package gateway

import (
	"context"
	"fmt"
	"strings"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// doubtful is mail: parts of this row may or may not have been posted.
type doubtful struct {
	row    sessions.RowID
	notice bool // the progress message could not take the offer
}

// doubt tells a conversation that one of its answers is in doubt.
func (g *Gateway) doubt(key sessions.Key, row sessions.RowID) {
	g.live.post(key, doubtful{row: row})
}

// offerAgain offers to send once more what of a row is in doubt, never doing it unasked: in the turn's progress message
// if there is one, otherwise by one short notice.
func (c *conversation) offerAgain(ctx context.Context, d doubtful) {
	row, err := c.g.store.Row(ctx, d.row)
	if err != nil {
		c.g.log.Error("an answer in doubt could not be read; it is offered at the next start", "row", d.row, "error", err)
		return
	}
	out, err := decodeOutput(row)
	if err != nil || out.Notice {
		return
	}
	what, attempts := inDoubt(row)
	if what == "" {
		return
	}
	offer := platforms.Outgoing{
		Text:    fmt.Sprintf("The connection broke while I was sending %s, so I cannot tell whether it reached you. If it is missing, press the button.", what),
		Buttons: [][]platforms.Button{{{Label: "Send it again", Data: buttonData(verbAgain, string(row.ID))}}},
		Class:   platforms.PriorityApproval,
	}
	if !d.notice && c.offerInBubble(row, out, offer) {
		return
	}
	id := sessions.RowID(string(row.ID) + "." + itoa(attempts))
	if _, err := c.g.store.Row(ctx, id); err == nil {
		return
	}
	notice := output{id: id, To: out.To, Pieces: []string{offer.Text}, Buttons: offer.Buttons, Notice: true}
	if err := c.commit(ctx, sessions.Record{}, notice); err != nil {
		c.g.log.Error("a notice about an answer in doubt could not be written down", "row", row.ID, "error", err)
	}
}

// inDoubt names what of a row is in doubt, for the person; empty if nothing is. The number of attempts made at the row
// tells this doubt from a later one.
func inDoubt(row sessions.Row) (what string, attempts int) {
	var parts []string
	for i, p := range row.Parts {
		attempts += p.Attempts
		if p.State == sessions.InDoubt {
			parts = append(parts, itoa(i+1))
		}
	}
	switch n := len(parts); {
	case n == 0:
		return "", attempts
	case n == len(row.Parts):
		return "my answer", attempts
	case n == 1:
		return fmt.Sprintf("part %s of %d of my answer", parts[0], len(row.Parts)), attempts
	default:
		return fmt.Sprintf("parts %s and %s of %d of my answer", strings.Join(parts[:n-1], ", "), parts[n-1], len(row.Parts)), attempts
	}
}

// offerInBubble puts the offer into the turn's progress message, beside the conversation, which must not wait for a
// platform. It reports false if there is none; if the edit fails the conversation gets to know.
func (c *conversation) offerInBubble(row sessions.Row, out output, offer platforms.Outgoing) bool {
	editor, ok := c.g.adapters[out.To.Platform].(platforms.Editor)
	if !ok || out.Bubble == "" {
		return false
	}
	c.g.beside(func(ctx context.Context) {
		if c.g.outbox.closed(ctx, out.Bubble) {
			err := c.g.outbox.edit(ctx, editor, out.To, out.Bubble, offer)
			if err == nil {
				return
			}
			c.g.log.Warn("an answer in doubt could not be offered in the progress message", "row", row.ID, "error", err)
		}
		c.g.live.post(row.Key, doubtful{row: row.ID, notice: true})
	})
	return true
}
