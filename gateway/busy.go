package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// Busy says what a new message does while the bot works on an earlier one.
type Busy string

const (
	Interrupt Busy = "interrupt" // it stops the running turn and takes its place, seeing what was done
	Queue     Busy = "queue"     // it waits for a turn of its own
	Steer     Busy = "steer"     // the running turn reads it before its next step; if there is none, it waits for a turn
	Collect   Busy = "collect"   // it waits for a turn together with whatever else the same person has written meanwhile
)

// BusyModes returns all modes with what they mean, for people, in the order in which they are listed.
func BusyModes() []struct{ Mode, Meaning string } {
	return []struct{ Mode, Meaning string }{
		{string(Interrupt), "a new message stops what I am doing and takes its place"},
		{string(Queue), "a new message waits, and is answered by itself"},
		{string(Steer), "I take in a new message at my next step and go on"},
		{string(Collect), "what you write meanwhile waits, and is answered together"},
	}
}

func (b Busy) meaning() string {
	for _, m := range BusyModes() {
		if m.Mode == string(b) {
			return m.Meaning
		}
	}
	return ""
}

// busySetting is the name under which people set the mode of a conversation.
const busySetting = "busy"

// busy returns the mode of the conversation: what people have set, else what the config says.
func (c *conversation) busy(at platforms.Address) Busy { return c.busyAt(at, time.Time{}) }

// busyAt is busy at a time: what came before somebody set another mode goes on in the one of then, also after a restart.
func (c *conversation) busyAt(at platforms.Address, when time.Time) Busy {
	if set := Busy(c.log.snapshot().SettingAt(busySetting, when)); set.meaning() != "" {
		return set
	}
	return c.g.now().busy(c.g.moves.first(at))
}

// busy returns the mode that is configured for an address.
func (cfg *Config) busy(at platforms.Address) Busy {
	for _, place := range at.Places() {
		if mode := cfg.BusyAt[place]; mode != "" {
			return mode
		}
	}
	return cfg.Busy
}

// cmdBusy shows the mode, or sets it for this conversation.
func (c *conversation) cmdBusy(ctx context.Context, in *input) {
	o := in.origin()
	wish := strings.ToLower(argument(in))
	switch {
	case wish == "":
		mode := c.busy(o.Address)
		c.reply(ctx, in, fmt.Sprintf("While I work: %s (mode `%s`).\n\n%s", mode.meaning(), mode, busyHelp(sign(o.Address.Platform))))
	case wish == "default" || Busy(wish).meaning() != "":
		mode := Busy(wish)
		if wish == "default" {
			mode, wish = c.g.now().busy(c.g.moves.first(o.Address)), ""
		}
		c.reply(ctx, in, fmt.Sprintf("From now on, while I work here: %s.", mode.meaning()),
			sessions.SettingChanged{
				Name: busySetting, Value: wish, Was: c.log.snapshot().Setting(busySetting), By: o.Sender.ID, At: in.sign.accepted,
			})
	default:
		c.reply(ctx, in, fmt.Sprintf("I do not know that mode.\n\n%s", busyHelp(sign(o.Address.Platform))))
	}
}

func busyHelp(sign string) string { return choices(sign, "busy", busyUses()[1:]) }

func (c *conversation) cmdQueue(ctx context.Context, in *input) { c.once(ctx, in, Queue) }
func (c *conversation) cmdSteer(ctx context.Context, in *input) { c.once(ctx, in, Steer) }

// once takes the text behind a command as a message, in a mode that counts for this one alone.
func (c *conversation) once(ctx context.Context, in *input, mode Busy) {
	text := argument(in)
	if text == "" {
		c.reply(ctx, in, fmt.Sprintf("Please write the message behind the command: `%s%s check the other file, too`.", sign(in.origin().Address.Platform), mode))
		return
	}
	m := platforms.Message{Origin: in.origin(), Mentioned: true}
	if in.Message != nil {
		m = *in.Message
	}
	m.Text = text
	in.Message, in.busy = &m, mode
	c.enqueue(ctx, in)
}

// steering returns what the running turn is to take in at its next step, and where it takes it; no channel if there is
// nothing. It is offered as long as it waits: whoever takes it back from the queue before the turn comes for it, has it.
func (c *conversation) steering() (to chan<- []*input, batch []*input) {
	if c.turn == nil {
		return nil, nil
	}
	size := 0
	for _, in := range c.queue {
		if in.busy != Steer || !c.mayStop(in.Message.Origin) || unworkable([]*input{in}) != "" {
			continue
		}
		if size += len(in.words()); time.Now().Before(in.ready) || len(batch) > 0 && size > longestText {
			break
		}
		batch = append(batch, in)
	}
	if len(batch) == 0 {
		return nil, nil
	}
	return c.turn.steering, batch
}

// steered takes note that the running turn has taken a batch.
func (c *conversation) steered(batch []*input) {
	c.queue = slices.DeleteFunc(c.queue, func(in *input) bool { return slices.Contains(batch, in) })
	c.g.room.leave(batch...)
	c.working = append(c.working, batch...)
}

// steer is loop.Turn.Steer: it takes what the actor offers, if it does. Until it is written down it waits in the inbox, and
// a turn that cannot write it down is not gone on with before the inbox has been read again.
func (t *turn) steer() (sessions.Steered, bool) {
	select {
	case batch := <-t.steering:
		t.inputs = append(t.inputs, batch...)
		files := t.fetchAll(batch)
		t.note += files.note()
		m := sessions.Message{Role: sessions.RoleUser, Text: steerMark + words(batch, files.told), Pictures: files.pictures}
		return sessions.Steered{Turn: t.id, Inputs: itemsOf(batch), Message: m}, true
	default:
		return sessions.Steered{}, false
	}
}

// steerMark tells the model what to do with a message that comes while it works.
const steerMark = "[This came while you were working. Take it into account and go on.]\n"
