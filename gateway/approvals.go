package gateway

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
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
	if c.g.now().Access.Admin(o.Address.Platform, o.Sender.ID) {
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

// cmdApprove allows what a question asks permission for, as its buttons do.
func (c *conversation) cmdApprove(ctx context.Context, in *input) {
	q, ok := c.asked(ctx, in)
	if !ok {
		return
	}
	extent := tools.Once
	switch strings.ToLower(argument(in)) {
	case "", "once":
	case "session", "this session":
		extent = tools.ForSession
	case "always":
		extent = tools.Always
	default:
		c.reply(ctx, in, fmt.Sprintf("`%[1]sapprove` allows it once, `%[1]sapprove session` until the next session, `%[1]sapprove always` for good.", sign(in.origin().Address.Platform)))
		return
	}
	d := allowed(q, extent)
	if !c.decide(ctx, in, q, d, verdict(decision(d), nil, sign(in.origin().Address.Platform))) {
		c.reply(ctx, in, questionOver)
	}
}

// cmdDeny refuses it.
func (c *conversation) cmdDeny(ctx context.Context, in *input) {
	if q, ok := c.asked(ctx, in); ok && !c.decide(ctx, in, q, denied(in.origin().Sender, argument(in)), "Denied.") {
		c.reply(ctx, in, questionOver)
	}
}

const questionOver = "No question waits for permission here; it may be over already."

// asked returns the question for permission that waits, if whoever writes may answer it. If not, it says so.
func (c *conversation) asked(ctx context.Context, in *input) (sessions.Question, bool) {
	s := c.log.snapshot()
	q, ok := s.Waiting(true)
	switch {
	case !ok && c.forwarded(ctx, in):
	case !ok:
		c.reply(ctx, in, questionOver)
	case !c.g.mayAnswer(s.Turn.Requester, in.origin()):
		c.reply(ctx, in, onlyTheirs)
		ok = false
	}
	return q, ok
}
