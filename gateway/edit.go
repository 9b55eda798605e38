package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// edited admits a change of a message. Like the message itself it must come from somebody who may, and be for the bot.
func (g *Gateway) edited(ctx context.Context, e *platforms.MessageEdited) error {
	if e.Sender.Bot || !g.admit(e.Origin).Admitted {
		return nil
	}
	key := g.key(e.Origin)
	addressed, err := g.addressed(ctx, key, &e.Message)
	if err != nil || !addressed {
		return err
	}
	kept := bounded(&e.Message)
	if kept.Refused != "" || strings.TrimSpace(e.Text) == "" {
		g.log.Info("a change of a message is passed over: there is no text in it, or too much", "id", e.NativeID())
		return nil
	}
	return g.accept(ctx, key, e.NativeID(), input{Edited: &platforms.MessageEdited{Message: *kept.Message, Original: e.Original}})
}

// deleted admits the removal of a message that has no outcome yet; nothing is stored about any other.
func (g *Gateway) deleted(ctx context.Context, d *platforms.MessageDeleted) error {
	item, err := g.store.Item(ctx, sessions.ItemID(d.Original))
	if errors.Is(err, sessions.ErrState) {
		return nil
	}
	if err != nil {
		return err
	}
	return g.accept(ctx, item.Key, d.NativeID(), input{Deleted: d})
}

// redo admits the wish to have a changed message answered.
func (g *Gateway) redo(ctx context.Context, b *platforms.ButtonPressed, id sessions.RowID) (platforms.Receipt, error) {
	row, err := g.store.Row(ctx, id)
	if err != nil {
		return platforms.Receipt{Note: "I do not have that message any more. Please send it again."}, nil
	}
	out, err := decodeOutput(row)
	if err != nil || out.Edited == nil {
		return platforms.Receipt{Note: "I do not know that button."}, nil
	}
	if b.Sender.ID != out.Edited.Sender.ID && !g.now().Access.Admin(b.Address.Platform, b.Sender.ID) {
		return platforms.Receipt{Note: "Only the person who wrote the message, or an admin, can do that."}, nil
	}
	return platforms.Receipt{}, g.accept(ctx, row.Key, b.NativeID(), input{Edited: out.Edited, Button: b})
}

// is tells whether this input is a message, or a change of it.
func (in *input) is(message string) bool {
	return in.item == sessions.ItemID(message) || in.Edited != nil && in.Edited.Original == message
}

// amend makes a message say what a change of it says. Both end together.
func (in *input) amend(e *input) {
	in.Message = e.Message
	in.edits = append(in.edits, e.items()...)
}

// amended puts changes into the messages that they change, where these stand in the list too.
func amended(inputs []*input) []*input {
	var list []*input
	for _, in := range inputs {
		if in.Edited != nil && in.Button == nil {
			if m := find(list, in.Edited.Original); m != nil {
				m.amend(in)
				continue
			}
		}
		list = append(list, in)
	}
	return list
}

// find returns the message, or a change of it, in a list of inputs; nil if it is not there.
func find(inputs []*input, message string) *input {
	for _, in := range slices.Backward(inputs) {
		if in.is(message) {
			return in
		}
	}
	return nil
}

// edited takes a change of a message. One that waits says the new thing from now on. One that is being worked on is
// corrected, as by a new message, and so is the answer to a question of the turn that still runs. One that was answered can
// be answered again, by a button, and /retry asks what it says now; nothing is done unasked.
func (c *conversation) edited(ctx context.Context, in *input) {
	if in.Button != nil {
		if find(c.queue, in.Edited.Original) != nil || c.running(in.Edited.Original) != nil {
			c.reply(ctx, in, "") // it was pressed twice
			return
		}
		c.g.replace(in.Button.Address, in.Button.MessageID, "Answering the changed message.")
		c.enqueue(ctx, in)
		return
	}
	waiting, running := find(c.queue, in.Edited.Original), c.running(in.Edited.Original)
	in.heard = c.heard(in.Edited.Original)
	_, _, command := parseCommand(in.Message)
	switch {
	case waiting == nil && running == nil && !(in.heard && c.changes(in)) && !c.answered(in):
		c.reply(ctx, in, "")
	case command:
		c.reply(ctx, in, "I run no command from a message that was changed. Please send it as a new one.")
	case waiting != nil:
		waiting.amend(in)
	case in.heard:
		c.enqueue(ctx, in)
	case running == nil:
		c.offerRedo(ctx, in)
	case running.Message.Text == in.Message.Text:
		c.reply(ctx, in, "")
	default:
		c.enqueue(ctx, in)
	}
}

// running returns the message, or a change of it, if the running turn is to answer it and has not done so.
func (c *conversation) running(message string) *input {
	if c.turn == nil {
		return nil
	}
	in := find(c.working, message)
	if in != nil && slices.Contains(c.log.snapshot().Answered, in.item) {
		return nil
	}
	return in
}

// heard tells whether the running turn has a message beside those that it was begun with: as the answer to one of its
// questions, or because it answers that once more.
func (c *conversation) heard(message string) bool {
	s := c.log.snapshot()
	return c.turn != nil && s.Turn != nil && slices.Contains(s.Turn.About, sessions.ItemID(message))
}

// answered tells whether a change is one of a message that was answered in this session, and changes what it says.
func (c *conversation) answered(in *input) bool {
	return slices.Contains(c.log.snapshot().Answered, sessions.ItemID(in.Edited.Original)) && c.changes(in)
}

// changes tells whether a change says anything that is not in the history: as a message, or as the answer to a question.
func (c *conversation) changes(in *input) bool {
	same, answer := "\n\n"+said(in.Message)+"\n\n", ": "+strings.TrimSpace(in.Message.Text)+"\n"
	return !slices.ContainsFunc(c.log.snapshot().Messages, func(m sessions.Message) bool {
		switch m.Role {
		case sessions.RoleUser:
			return strings.Contains("\n\n"+m.Text+"\n\n", same)
		case sessions.RoleTool:
			return strings.Contains(m.Text+"\n", answer)
		}
		return false
	})
}

// offerRedo offers to answer a message that was changed after it had been answered.
func (c *conversation) offerRedo(ctx context.Context, in *input) {
	out, ok := c.g.answer(in, "You changed a message after I had answered it. If you want an answer to the new version, press the button.")
	if !ok {
		return
	}
	out.id, out.Edited = sessions.RowID(newID()), in.Edited
	out.Buttons = [][]platforms.Button{{{Label: "Answer again", Data: buttonData(verbRedo, string(out.id))}}}
	edit := sessions.Edited{Original: sessions.ItemID(in.Edited.Original), Text: said(in.Message), At: time.Now()}
	c.write(ctx, sessions.Record{Entries: []sessions.Entry{edit}, Consumed: in.items(), Ended: string(Done)}, out)
}

// deleted takes the removal of a message: one that waits is not answered, and a turn that has nothing else to answer
// stops.
func (c *conversation) deleted(ctx context.Context, in *input) {
	message, ids, how := in.Deleted.Original, in.items(), Done
	c.queue = slices.DeleteFunc(c.queue, func(q *input) bool {
		if !q.is(message) {
			return false
		}
		c.g.room.leave(q)
		ids, how = append(ids, q.items()...), Withdrawn
		return true
	})
	if c.running(message) != nil && len(c.working) == 1 {
		c.turn.cancel(loop.ErrStopped)
	}
	c.settle(ctx, how, ids)
}

// changed introduces a changed message to the model.
func (in *input) changed() string {
	switch {
	case in.Edited == nil:
		return ""
	case in.Button != nil:
		return fmt.Sprintf("[%s changed an earlier message and wants the new version answered. It now reads:]\n", who(in.Message.Sender))
	case in.heard:
		return fmt.Sprintf("[%s changed what you had been told before. It now reads:]\n", who(in.Message.Sender))
	default:
		return fmt.Sprintf("[%s changed the message that you were working on. It now reads:]\n", who(in.Message.Sender))
	}
}
