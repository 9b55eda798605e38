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

// argument returns what stands after the name of a command.
func argument(in *input) string {
	if in.Command != nil {
		return strings.TrimSpace(in.Command.Argument)
	}
	_, rest, _ := parseCommand(in.Message)
	return rest
}

// cmdApprovals lists what a person has allowed for longer than once, and takes it back.
func (c *conversation) cmdApprovals(ctx context.Context, in *input) {
	mine := c.approvalsOf(in)
	what, which, _ := strings.Cut(argument(in), " ")
	switch which = strings.TrimSpace(which); {
	case what == "" && len(mine) == 0:
		c.reply(ctx, in, "You have allowed nothing for longer than once here.")
	case what == "":
		c.reply(ctx, in, listApprovals(mine, sign(in.origin().Address.Platform)))
	case what == "revoke" && which == "all":
		c.revoke(ctx, in, mine)
	case what == "revoke":
		n, err := strconv.Atoi(which)
		if err != nil || n < 1 || n > len(mine) {
			c.reply(ctx, in, fmt.Sprintf("Which one? Write `%sapprovals` to see the numbers.", sign(in.origin().Address.Platform)))
			return
		}
		c.revoke(ctx, in, mine[n-1:n])
	default:
		c.reply(ctx, in, fmt.Sprintf("`%[1]sapprovals` shows what you have allowed, `%[1]sapprovals revoke 1` or `%[1]sapprovals revoke all` takes it back.", sign(in.origin().Address.Platform)))
	}
}

// approvalsOf returns what somebody may see and revoke: his own, or as an admin all.
func (c *conversation) approvalsOf(in *input) []sessions.Approved {
	o := in.origin()
	if c.g.cfg.Access.Admin(o.Address.Platform, o.Sender.ID) {
		return c.log.snapshot().Approvals
	}
	return slices.DeleteFunc(slices.Clone(c.log.snapshot().Approvals), func(a sessions.Approved) bool { return a.For != o.Sender.ID })
}

func listApprovals(all []sessions.Approved, sign string) string {
	var b strings.Builder
	b.WriteString("I do these without asking, exactly as they stand here:\n\n")
	for i, a := range all {
		how := "for this session"
		if a.Forever {
			how = "for good"
		}
		fmt.Fprintf(&b, "%d. %s, %s, since %s:\n\n%s\n\n", i+1, a.Tool, how, a.At.UTC().Format("2006-01-02 15:04"), fenced(a.Preview))
	}
	fmt.Fprintf(&b, "`%sapprovals revoke 1` takes the first back, `revoke all` everything.", sign)
	return b.String()
}

func (c *conversation) revoke(ctx context.Context, in *input, all []sessions.Approved) {
	var entries []sessions.Entry
	for _, a := range all {
		entries = append(entries, sessions.Revoked{Rule: a.Rule, For: a.For, By: in.origin().Sender.ID, At: time.Now()})
	}
	text := fmt.Sprintf("Revoked. I will ask again before %d calls.", len(all))
	switch len(all) {
	case 0:
		text = "There was nothing to revoke."
	case 1:
		text = "Revoked. I will ask again before I do this."
	}
	c.reply(ctx, in, text, entries...)
}
