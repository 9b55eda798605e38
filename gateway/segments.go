package gateway

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

const (
	mostListed   = 20 // sessions in the list that a person gets
	longestTitle = 80 // bytes
)

// readOutline brings the list of the conversation's sessions up to date, and what they have used. It reads what the log has more: all of it at
// first, which only somebody who asks for it waits for.
func (c *conversation) readOutline(ctx context.Context) error {
	if c.outline == nil {
		c.outline, c.spending = &sessions.Outline{Key: c.key}, spending{}
	}
	add := func(r sessions.Record) { c.spending.add(c.outline.Current(), r) }
	if err := c.outline.Follow(ctx, c.g.store, func() { clear(c.spending) }, add); err != nil {
		c.outline = nil
		return fmt.Errorf("list the sessions: %w", err)
	}
	return nil
}

// cmdSessions lists the sessions of the conversation in which somebody said something.
func (c *conversation) cmdSessions(ctx context.Context, in *input) {
	if err := c.readOutline(ctx); err != nil {
		c.unread(ctx, in, err)
		return
	}
	current := c.outline.Current()
	all := slices.DeleteFunc(slices.Clone(c.outline.Segments), func(s sessions.Segment) bool {
		return s.First == "" && s.Title == "" && s.Number != current.Number
	})
	if len(all) == 0 || len(all) == 1 && all[0].First == "" && all[0].Title == "" {
		c.reply(ctx, in, "There are no sessions yet. Write to me, and this will be the first.")
		return
	}
	var b strings.Builder
	b.WriteString("Our sessions here:\n\n")
	if more := len(all) - mostListed; more > 0 {
		fmt.Fprintf(&b, "- %d older ones\n", more)
		all = all[more:]
	}
	for _, s := range all {
		fmt.Fprintf(&b, "- %s%s\n", describeSegment(s), map[bool]string{true: " **(we are here)**"}[s.Number == current.Number])
	}
	p := sign(in.origin().Address.Platform)
	fmt.Fprintf(&b, "\n`%[1]sresume 1` goes back to the first, `%[1]stitle …` names this one.", p)
	c.reply(ctx, in, b.String())
}

// describeSegment is a line about a session: number, title, date, first words.
func describeSegment(s sessions.Segment) string {
	line := fmt.Sprintf("**%d**", s.Number)
	if s.Title != "" {
		line += " · " + s.Title
	}
	line += " · " + s.Last.Format(time.DateOnly)
	if s.First != "" {
		line += fmt.Sprintf(" · %q", s.First)
	}
	if s.Parent > 0 {
		line += fmt.Sprintf(" · a branch of %d", s.Parent)
	}
	return line
}

// cmdResume goes on with an earlier session from where it was left.
func (c *conversation) cmdResume(ctx context.Context, in *input) {
	if c.behindBranch(in) {
		return
	}
	if err := c.readOutline(ctx); err != nil {
		c.unread(ctx, in, err)
		return
	}
	n, err := strconv.Atoi(argument(in))
	switch {
	case err != nil || n < 1 || n > len(c.outline.Segments):
		c.reply(ctx, in, fmt.Sprintf("Which one? Write `%ssessions` to see the numbers.", sign(in.origin().Address.Platform)))
		return
	case c.outline.Current().Number == n:
		c.reply(ctx, in, sentences(in.closing, fmt.Sprintf("We are in session %d already.", n)))
		return
	case c.closing(ctx, in):
		return
	}
	to := c.outline.Segments[n-1]
	then, err := c.log.at(ctx, to.Point)
	if err != nil {
		c.unread(ctx, in, err)
		return
	}
	entry := c.log.snapshot().Resume(then, to.Point)
	entry.By = in.origin().Sender.ID
	c.reply(ctx, in, sentences(in.closing, withdrawn(in.withdrawn), "We go on with session "+describeSegment(to)+"."), entry)
}

// cmdBranch begins a new session with all that is in this one. What runs is waited for.
func (c *conversation) cmdBranch(ctx context.Context, in *input) {
	if c.turn != nil {
		c.after = append(c.after, in)
		return
	}
	s := c.log.snapshot()
	if len(s.Messages) == 0 {
		c.reply(ctx, in, "There is nothing in this session yet that a branch could begin with.")
		return
	}
	if err := c.readOutline(ctx); err != nil {
		c.unread(ctx, in, err)
		return
	}
	o := in.origin()
	branch := s.Branch()
	branch.By = o.Sender.ID
	entries := []sessions.Entry{branch}
	if title := titleIn(in); title != "" {
		entries = append(entries, sessions.Titled{Title: title, By: o.Sender.ID, At: branch.At})
	}
	from := c.outline.Current().Number
	c.reply(ctx, in, fmt.Sprintf("This is session %d now, a branch of session %d with all that we said in it. `%sresume %d` goes back.",
		len(c.outline.Segments)+1, from, sign(o.Address.Platform), from), entries...)
}

// behindBranch lets a command about sessions wait behind one that waits to begin a branch: it means the sessions that there
// are after that. It reports whether it has to.
func (c *conversation) behindBranch(in *input) bool {
	waits := c.turn != nil && slices.ContainsFunc(c.after, func(before *input) bool { return before.names("branch") })
	if waits {
		c.after = append(c.after, in)
	}
	return waits
}

// cmdTitle names the session.
func (c *conversation) cmdTitle(ctx context.Context, in *input) {
	if c.behindBranch(in) {
		return
	}
	title := titleIn(in)
	if title == "" {
		c.reply(ctx, in, fmt.Sprintf("Write the name behind the command: `%stitle Holiday plans`.", sign(in.origin().Address.Platform)))
		return
	}
	c.reply(ctx, in, fmt.Sprintf("This session is called %q now.", title),
		sessions.Titled{Title: title, By: in.origin().Sender.ID, At: time.Now()})
}

// titleIn is the name that a person gave behind a command, on one line.
func titleIn(in *input) string {
	return clip(strings.Join(strings.Fields(argument(in)), " "), longestTitle)
}
