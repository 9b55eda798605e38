package gateway

import (
	"context"
	"strings"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// What a button of ours carries: a verb and what it is about. At most 64 bytes.
const (
	verbStop    = "stop"    // stop:<turn>
	verbAllow   = "allow"   // allow:<question>
	verbSession = "session" // session:<question>: allow it until the next session
	verbAlways  = "always"  // always:<question>
	verbDeny    = "deny"    // deny:<question>
	verbPick    = "pick"    // pick:<question>:<choice, 0 = skip>
	verbAgain   = "again"   // again:<row>
	verbRedo    = "redo"    // redo:<row>: answer the changed message that the row offers to answer
)

func buttonData(verb, about string) string { return verb + ":" + about }

// button admits a button press: the presser is authorised anew, then the press goes to the conversation that the button
// belongs to. A button that has nothing to do any more says so.
func (g *Gateway) button(ctx context.Context, b *platforms.ButtonPressed) (platforms.Receipt, error) {
	note := func(text string) (platforms.Receipt, error) { return platforms.Receipt{Note: text}, nil }
	if d := g.admit(b.Origin); !d.Admitted {
		g.stranger(b.Origin, d)
		return note("Sorry, these buttons are not for you.")
	}
	verb, about, _ := strings.Cut(b.Data, ":")
	var key sessions.Key
	var t *turn
	switch verb {
	case verbStop:
		if t = g.turns.get(about); t == nil {
			return note("That is over already.")
		}
	case verbAllow, verbSession, verbAlways, verbDeny:
		a := g.asks.get(about)
		if a == nil {
			return note("That question is closed already.")
		}
		t = a.turn
	case verbPick:
		id, _ := questionPart(about)
		q := g.questions.get(id)
		if q == nil {
			return note("That question is closed already.")
		}
		t = q.turn
	case verbAgain:
		row, err := g.store.Row(ctx, sessions.RowID(about))
		if err != nil {
			return note("I do not have that answer any more: after a week it is too old. Please ask me again.")
		}
		key = row.Key
	case verbRedo:
		return g.redo(ctx, b, sessions.RowID(about))
	default:
		return note("I do not know that button.")
	}
	if t != nil {
		if b.Sender.ID != t.requester && !g.cfg.Access.Admin(b.Address.Platform, b.Sender.ID) {
			return note("Only the person who asked, or an admin, can do that.")
		}
		key = t.c.key
	}
	return platforms.Receipt{}, g.accept(ctx, key, b.NativeID(), input{Button: b})
}

// pressed does what an accepted button press asks for, if it still can.
func (c *conversation) pressed(ctx context.Context, in *input) {
	b := in.Button
	verb, about, _ := strings.Cut(b.Data, ":")
	switch verb {
	case verbStop:
		if c.turn != nil && c.turn.id == about {
			c.turn.cancel(loop.ErrStopped)
		}
	case verbAllow, verbSession, verbAlways, verbDeny:
		if a := c.g.asks.get(about); a != nil {
			a.decide(extents[verb], b.Sender)
		}
	case verbPick:
		id, choice := questionPart(about)
		if q := c.g.questions.get(id); q != nil {
			q.choose(choice)
		}
	case verbAgain:
		sent, err := c.g.outbox.again(ctx, sessions.RowID(about))
		if err != nil {
			c.g.log.Error("an answer in doubt could not be sent again; trying again", "row", about, "error", err)
			c.torn = true
			return
		}
		if sent {
			c.g.replace(b.Address, b.MessageID, "Sending it again.")
		}
	}
	c.reply(ctx, in, "")
}
