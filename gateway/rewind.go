package gateway

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// cmdUndo takes back the last exchanges: what a person said and everything after it. The entry is committed together with
// the end of the command, so that a command that is worked on again after a crash takes nothing back twice. A message
// that had not been begun counts as one.
func (c *conversation) cmdUndo(ctx context.Context, in *input) {
	n, err := 1, error(nil)
	if text := argument(in); text != "" {
		n, err = strconv.Atoi(text)
	}
	if err != nil || n < 1 {
		c.reply(ctx, in, fmt.Sprintf("`%[1]sundo` takes back the last exchange, `%[1]sundo 3` the last three.", sign(in.origin().Address.Platform)))
		return
	}
	if c.closing(ctx, in) {
		return
	}
	done := sentences(in.closing, withdrawn(in.withdrawn))
	if in.unbegun || !in.stopped && in.withdrawn > 0 {
		if n--; n == 0 {
			c.reply(ctx, in, sentences(done, "I had not begun with it, so there is nothing else to take back."))
			return
		}
	}
	if why := c.mayTakeBack(in, n); why != "" {
		c.reply(ctx, in, sentences(done, why))
		return
	}
	back, err := c.log.takeBack(ctx, n)
	if err != nil {
		c.unread(ctx, in, err)
		return
	}
	back.entry.By = in.origin().Sender.ID
	c.reply(ctx, in, sentences(done, back.String(), left(loop.ChangedFiles(c.g.parts.Tools, back.undone))), back.entry)
}

// cmdRetry takes the last exchange back and asks the same again, at once, as a turn that answers the command. Both stand
// in the record that opens the turn: until then nothing has happened, and after a crash the turn goes on as any other.
func (c *conversation) cmdRetry(ctx context.Context, in *input) {
	waits := c.turn == nil && len(c.queue) > 0 || c.turn != nil && c.log.snapshot().Turn == nil
	if waits && !in.stopped {
		c.reply(ctx, in, "I have not begun with your last message yet, so there is nothing to try again.")
		return
	}
	if c.closing(ctx, in) {
		return
	}
	if why := c.mayTakeBack(in, 1); why != "" {
		c.reply(ctx, in, sentences(in.closing, why))
		return
	}
	t := newTurn(ctx, c, []*input{in}, nil)
	t.again = true
	c.start(t)
}

// mayTakeBack says why somebody cannot take back so many exchanges; empty if he can. In a shared conversation only who
// began them can, or an admin.
func (c *conversation) mayTakeBack(in *input, n int) string {
	all, o := c.log.snapshot().Exchanges, in.origin()
	switch {
	case len(all) == 0:
		return "There is nothing to take back in this session."
	case n > len(all):
		return fmt.Sprintf("I can take back at most %d exchanges here now, so I took back nothing.", len(all))
	case !shared(o.Kind) || c.g.now().Access.Admin(o.Address.Platform, o.Sender.ID):
		return ""
	}
	for _, e := range all[len(all)-n:] {
		if e.Requester != o.Sender.ID {
			return "Somebody else said what that would take back. Only that person or an admin can do it."
		}
	}
	return ""
}

// unread tells a person that the log could not be read.
func (c *conversation) unread(ctx context.Context, in *input, err error) {
	c.g.log.Error("an earlier state could not be read", "conversation", c.key, "error", err)
	c.reply(ctx, in, "I could not read our conversation as it was; nothing has changed. The details are in the log. Please try again later.")
}

// takenBack is what taking back exchanges comes to.
type takenBack struct {
	entry  sessions.Rewound
	said   sessions.Message  // what people said in the first of the exchanges
	asked  []sessions.ItemID // the messages of that
	alone  bool              // it is one message
	edits  []sessions.Edited
	asides []sessions.Aside // what it had to say first
	undone []sessions.Entry // of all of them
	count  int
}

// say adds what was said in the first exchange: what opened it, and what came while it ran.
func (b *takenBack) say(m sessions.Message, first bool) {
	switch {
	case !first:
	case b.said.Role == "":
		b.said = m
	default:
		b.said.Text += "\n\n" + m.Text
		b.said.Pictures = append(slices.Clip(b.said.Pictures), m.Pictures...)
	}
}

// now is what to ask again: what people said, as it reads now.
func (b *takenBack) now() sessions.Message {
	m := b.said
	for i, e := range b.edits {
		later := slices.ContainsFunc(b.edits[i+1:], func(l sessions.Edited) bool { return l.Original == e.Original })
		switch {
		case later || !slices.Contains(b.asked, e.Original):
		case b.alone:
			m.Text = withAsides(b.asides, e.Text)
		default:
			m.Text += "\n\n[One of these messages was changed. It now reads:]\n" + e.Text
		}
	}
	return m
}

func (b takenBack) String() string {
	first := fmt.Sprintf(" %q", clip(strings.Join(strings.Fields(b.said.Text), " "), 80))
	if b.count == 1 {
		return fmt.Sprintf("I took back%s and what followed.", first)
	}
	return fmt.Sprintf("I took back the last %d exchanges, from%s on.", b.count, first)
}

// left tells a person which files stay as the exchanges left them.
func left(files []string) string {
	if len(files) == 0 {
		return ""
	}
	return fmt.Sprintf("Files that were changed stay as they are now: %s.", strings.Join(files, ", "))
}

// at folds the conversation as it was at a point.
func (l *convLog) at(ctx context.Context, p sessions.Point) (*sessions.Session, error) {
	return sessions.FoldUntil(l.key, l.store.History(ctx, l.key, max(p.From, 1)-1), p.To)
}

// takeBack finds out what taking back the last n exchanges comes to. There must be so many.
func (l *convLog) takeBack(ctx context.Context, n int) (b takenBack, err error) {
	now := l.snapshot()
	gone := now.Exchanges[len(now.Exchanges)-n:]
	then, err := l.at(ctx, gone[0].Point)
	if err != nil {
		return b, err
	}
	b.entry, b.count, b.asides = now.TakeBack(then, gone[0].Point), n, then.Asides
	turn := "" // of the entry before
	for r, err := range l.store.History(ctx, l.key, gone[0].To) {
		if err != nil {
			return b, fmt.Errorf("read what is taken back: %w", err)
		}
		for _, e := range r.Entries {
			switch e := e.(type) {
			case sessions.TurnStarted:
				if turn = e.Turn; turn == gone[0].Turn {
					b.asked = slices.Concat(e.Inputs, e.About)
					b.alone = len(e.Inputs) == 1 && len(e.About) <= 1
				}
			case sessions.UserMessage:
				b.say(e.Message, e.Turn == gone[0].Turn)
			case sessions.Edited:
				b.edits = append(b.edits, e)
			case sessions.Steered:
				if e.Turn == gone[0].Turn {
					b.asked, b.alone = append(b.asked, e.Inputs...), false
				}
				b.say(e.Message, e.Turn == gone[0].Turn)
			}
			if slices.ContainsFunc(gone, func(x sessions.Exchange) bool { return x.Turn == turn }) {
				b.undone = append(b.undone, e)
			}
		}
	}
	return b, nil
}
