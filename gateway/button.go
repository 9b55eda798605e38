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
		return g.answerPressed(ctx, b, about)
	case verbPick:
		id, _ := questionPart(about)
		return g.answerPressed(ctx, b, id)
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
		if !g.mayAnswer(t.requester, b.Origin) {
			return note(onlyTheirs)
		}
		key = t.c.key
	}
	return platforms.Receipt{}, g.accept(ctx, key, b.NativeID(), input{Button: b})
}

// answerPressed admits the press of a question's button. A turn that an earlier process has left may not have been taken up
// yet; its conversation sees to the rest then.
func (g *Gateway) answerPressed(ctx context.Context, b *platforms.ButtonPressed, question string) (platforms.Receipt, error) {
	key := g.left.get(turnOf(question))
	if t := g.turns.get(turnOf(question)); t != nil {
		q, ok := t.log.snapshot().Question(question)
		switch {
		case !ok || q.Decided != nil:
			key = ""
		case !g.mayAnswer(t.requester, b.Origin):
			return platforms.Receipt{Note: onlyTheirs}, nil
		default:
			key = t.c.key
		}
	}
	if key == "" {
		return platforms.Receipt{Note: "That question is closed already."}, nil
	}
	return platforms.Receipt{}, g.accept(ctx, key, b.NativeID(), input{Button: b})
}

// onlyTheirs is what somebody else reads.
const onlyTheirs = "Only the person who asked, or an admin, can do that."

// mayAnswer tells whether somebody may press the buttons of a turn: whoever started it, or an admin.
func (g *Gateway) mayAnswer(requester string, o platforms.Origin) bool {
	return o.Sender.ID == requester || g.now().Access.Admin(o.Address.Platform, o.Sender.ID)
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
	case verbAllow, verbSession, verbAlways, verbDeny, verbPick:
		if c.answeredBy(ctx, in, verb, about) {
			return
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

// answeredBy ends a press by what it decides, and reports whether it decided anything.
func (c *conversation) answeredBy(ctx context.Context, in *input, verb, about string) bool {
	id, n := questionPart(about)
	s := c.log.snapshot()
	q, ok := s.Question(id)
	if !ok || q.Decided != nil || !c.g.mayAnswer(s.Turn.Requester, in.Button.Origin) {
		return false
	}
	var d sessions.Decided
	switch verb {
	case verbPick:
		d = picked(q, n)
	case verbDeny:
		d = denied(in.Button.Sender, "")
	default:
		d = allowed(q, extents[verb])
	}
	return c.decide(ctx, in, q, d, "")
}
