package gateway

import (
	"context"
	"strconv"
	"strings"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// Checkpoints keeps copies of work folders from before turns changed them. Its texts are Markdown for the person.
type Checkpoints interface {
	// Diff tells what has changed since before the nth last turn that could change something.
	Diff(ctx context.Context, conversation, work string, n int) (string, error)
	// Rollback makes the folder what it was then. The note is for the model, empty if nothing was changed.
	Rollback(ctx context.Context, conversation, work string, order tools.Rollback) (text, note string, err error)
}

func (c *conversation) cmdDiff(ctx context.Context, in *input) {
	n, _, ok := c.steps(ctx, in, "")
	if !ok {
		return
	}
	text, err := c.g.parts.Checkpoints.Diff(ctx, string(c.key), c.g.workFolder(c.key), n)
	if err != nil {
		c.g.log.Error("the changes could not be shown", "conversation", c.key, "error", err)
		text = "I could not compare the files. The log says more."
	}
	c.reply(ctx, in, text)
}

func (c *conversation) cmdRollback(ctx context.Context, in *input) {
	n, force, ok := c.steps(ctx, in, "force")
	if !ok {
		return
	}
	if c.turn != nil {
		c.reply(ctx, in, "I am working on something. Stop me first, or wait until I am done.")
		return
	}
	o := in.origin()
	text, note, err := c.g.parts.Checkpoints.Rollback(ctx, string(c.key), c.g.workFolder(c.key), tools.Rollback{
		ID: string(in.item), N: n, Force: force,
		May: func(requester string) bool {
			return !shared(o.Kind) || requester == o.Sender.ID || c.g.now().Access.Admin(o.Address.Platform, o.Sender.ID)
		},
	})
	if err != nil {
		c.g.log.Error("rolling back did not work", "conversation", c.key, "error", err)
		text = "I could not take the changes back, or not all of them. The log says more."
	}
	if note == "" {
		c.reply(ctx, in, text)
		return
	}
	c.reply(ctx, in, text, sessions.Aside{Text: note})
}

// steps reads "[N] [word]" behind a command. If that makes no sense, or no copies are kept, it says so.
func (c *conversation) steps(ctx context.Context, in *input, word string) (n int, said, ok bool) {
	if c.g.parts.Checkpoints == nil {
		c.reply(ctx, in, "No copies of files are kept here.")
		return 0, false, false
	}
	n = 1
	for _, field := range strings.Fields(argument(in)) {
		number, err := strconv.Atoi(field)
		switch {
		case err == nil && number > 0:
			n = number
		case word != "" && strings.EqualFold(field, word):
			said = true
		default:
			c.reply(ctx, in, "Name how many turns to go back, 1 for the last one.")
			return 0, false, false
		}
	}
	return n, said, true
}
