package gateway

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
)

// cmdBg works on something in the background, or shows or stops what is worked on there.
func (c *conversation) cmdBg(ctx context.Context, in *input) {
	o, text := in.origin(), argument(in)
	verb, rest, _ := strings.Cut(text, " ")
	_, wrong := strconv.Atoi(strings.TrimSpace(rest))
	switch {
	case text == "" || text == "list":
		c.reply(ctx, in, c.g.describeErrands(o)+"\n"+fmt.Sprintf("`%[1]sbg` with a text behind it works on that in the background, `%[1]sbg stop 1` stops task 1, "+
			"`%[1]sbg stop job 1` the run of a job.", sign(o.Address.Platform)))
	case strings.EqualFold(verb, "stop") && (wrong == nil || strings.HasPrefix(strings.TrimSpace(rest), "job ")):
		c.stopErrand(ctx, in, rest)
	default:
		c.startTask(ctx, in, text)
	}
}

// startTask takes a text as a task in the background. The task begins when its beginning has been told.
func (c *conversation) startTask(ctx context.Context, in *input, prompt string) {
	g, o := c.g, in.origin()
	id := "task/" + string(in.item)
	mine := g.errands.list(func(a *active) bool { return a.in.Errand.Kind == taskKind && a.in.person() == in.person() })
	number, begun := 1, slices.IndexFunc(mine, func(a active) bool { return string(a.in.item) == id })
	switch {
	case begun >= 0: // an earlier try at this command could not tell
		number = mine[begun].in.Errand.Number
	case len(mine) >= g.now().Background.PerPerson:
		c.reply(ctx, in, fmt.Sprintf("I work on %d tasks for you in the background, and more is not possible. Wait for one, or stop one: `%sbg`.",
			len(mine), sign(o.Address.Platform)))
		return
	default:
		for slices.ContainsFunc(mine, func(a active) bool { return a.in.Errand.Number == number }) {
			number++
		}
	}
	e := &errand{Kind: taskKind, Number: number, Title: headline(prompt)}
	task := input{Errand: e, Message: &platforms.Message{Origin: o, Native: id, Mentioned: true, Text: e.brief("", prompt), At: time.Now()}}
	if in.Message != nil {
		task.Message.ID, task.Message.Attachments = in.Message.ID, in.Message.Attachments
	}
	wake, err := g.prepare(ctx, errandKey(taskKind, o, number), id, &task)
	if err != nil {
		c.torn = true // and the command is handled again
		return
	}
	c.reply(ctx, in, fmt.Sprintf("I work on it in the background: **%s** · %s", e.name(), e.Title))
	wake()
}

// stopErrand stops a task, or the run of a job, by a command in its own conversation. That one says what became of it.
func (c *conversation) stopErrand(ctx context.Context, in *input, which string) {
	o := in.origin()
	kind, which := taskKind, strings.TrimSpace(which)
	if rest, ok := strings.CutPrefix(which, "job "); ok {
		kind, which = jobKind, strings.TrimSpace(rest)
	}
	for _, a := range c.g.errands.list(func(a *active) bool { return a.in.Errand.Kind == kind }) {
		if strconv.Itoa(a.in.Errand.Number) != which || !c.g.seesErrand(&a, o) || !c.g.mayAnswer(a.in.origin().Sender.ID, o) {
			continue
		}
		id := "stop/" + string(in.item)
		stop := input{Command: &platforms.CommandInvoked{Origin: o, Native: id, Name: "stop", At: time.Now()}}
		if err := c.g.accept(ctx, a.key, id, stop); err != nil {
			c.torn = true
			return
		}
		c.reply(ctx, in, "")
		return
	}
	c.reply(ctx, in, fmt.Sprintf("No %s %s is worked on here. `%sbg` shows what is.", kind, which, sign(o.Address.Platform)))
}

// forwarded hands a command that answers a question to an errand that asks one, and reports whether there is any.
func (c *conversation) forwarded(ctx context.Context, in *input) bool {
	o := in.origin()
	asking := c.g.errands.list(func(a *active) bool {
		if a.turn == nil || a.key == c.key || !c.g.seesErrand(a, o) || !c.g.mayAnswer(a.in.origin().Sender.ID, o) {
			return false
		}
		_, waits := a.turn.log.snapshot().Waiting(true)
		return waits
	})
	if len(asking) == 0 {
		return false
	}
	name, id := "", "answer/"+string(in.item)
	if in.Command != nil {
		name = in.Command.Name
	} else {
		name, _, _ = parseCommand(in.Message)
	}
	answer := input{Command: &platforms.CommandInvoked{Origin: o, Native: id, Name: name, Argument: argument(in), At: time.Now()}}
	if err := c.g.accept(ctx, asking[0].key, id, answer); err != nil {
		c.torn = true
		return true
	}
	c.reply(ctx, in, "")
	return true
}

// seesErrand tells whether somebody gets to see an errand where he is; see shownJobs.
func (g *Gateway) seesErrand(a *active, from platforms.Origin) bool {
	o := a.in.origin()
	here := chatOf(o.Address) == chatOf(from.Address)
	if personOf(o) == personOf(from) {
		return here || from.Kind == platforms.Direct
	}
	return here && (shared(from.Kind) || g.now().Access.Admin(from.Address.Platform, from.Sender.ID))
}

// busyFor tells whether there is an errand that somebody gets to see where he is.
func (g *Gateway) busyFor(from platforms.Origin) bool {
	return len(g.errands.list(func(a *active) bool { return g.seesErrand(a, from) })) > 0
}

func (g *Gateway) describeErrands(from platforms.Origin) string {
	var b strings.Builder
	for _, a := range g.errands.list(func(a *active) bool { return g.seesErrand(a, from) }) {
		fmt.Fprintf(&b, "- In the background: %s\n", a)
	}
	if b.Len() == 0 {
		return "I work on nothing in the background here.\n"
	}
	return b.String()
}

// reported is what an errand's end has to say: its answer, under its name.
func (t *turn) reported(e *errand, outcome loop.Outcome) []output {
	text, says := e.told(outcome)
	if !says {
		return nil
	}
	out, ok := t.c.g.answer(t.inputs[len(t.inputs)-1], text)
	if !ok {
		return nil
	}
	if e.To != nil {
		out.To, out.ReplyTo = e.To.Address, ""
	}
	out.Task = t.id
	return []output{out}
}
