package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// askWait is how long a person may take to answer before it counts as no.
const askWait = 5 * time.Minute

// extents say what a button allows.
var extents = map[string]tools.Extent{verbAllow: tools.Once, verbSession: tools.ForSession, verbAlways: tools.Always}

// askButtons returns what there is to choose from, two a row: on a phone more would be cut off.
func askButtons(q sessions.Asked) [][]platforms.Button {
	all := []platforms.Button{{Label: "Allow", Data: buttonData(verbAllow, q.ID)}}
	if q.Rule != "" {
		all = append(all, platforms.Button{Label: "This session", Data: buttonData(verbSession, q.ID)})
	}
	if q.Always {
		all = append(all, platforms.Button{Label: "Always", Data: buttonData(verbAlways, q.ID)})
	}
	all = append(all, platforms.Button{Label: "Deny", Data: buttonData(verbDeny, q.ID), Danger: true})
	return slices.Collect(slices.Chunk(all, 2))
}

// Approve implements tools.Approver: it asks in the chat, by buttons, and waits. What the person has allowed before for
// longer than once is not asked again.
func (g *Gateway) Approve(ctx context.Context, ask tools.Ask) (tools.Decision, error) {
	t := g.turns.get(cmp.Or(ask.Scope.Parent, ask.Scope.Turn))
	if t == nil {
		return tools.Decision{Note: "there is nobody to ask"}, nil
	}
	select { // the sub-agents of a turn may all ask at once
	case t.asking <- struct{}{}:
		defer func() { <-t.asking }()
	case <-ctx.Done():
		return tools.Decision{}, context.Cause(ctx)
	}
	call := callOf(ask.Scope)
	if d, ok := t.allowedBefore(ask); ok {
		if _, decided := t.decision(questionID(t.id, call)); !decided {
			return decision(d), t.writeDown(ctx, d)
		}
	}
	head := ""
	if e := t.errand(); e != nil {
		head = e.head()
	}
	q := inquiry{
		Asked: sessions.Asked{
			Turn: t.id, Call: call, ID: questionID(t.id, call), Tool: ask.Tool, Rule: ask.Rule, Always: ask.Always, Preview: ask.Preview,
			Text: fmt.Sprintf("%sMay I use **%s**?\n\n%s\n\n%s", head, ask.Tool, fenced(ask.Preview), ask.Reason), At: time.Now(),
		},
		wait: askWait, late: "nobody answered within 5 minutes",
		closing: func(d sessions.Decided, err error) string { return verdict(decision(d), err, sign(t.address.Platform)) },
	}
	q.buttons = askButtons(q.Asked)
	if d, ok := t.judged(ctx, ask, &q); ok {
		return decision(d), t.writeDown(ctx, append([]sessions.Entry{d}, q.beside...)...)
	}
	d, err := t.inquire(ctx, q)
	return decision(d), err
}

// judged has a model look at a call that was not asked about yet. It can let the call run once if the risk is low, and
// nothing else: what is not clear, would get more than commands have, or could not be judged is left to the person.
func (t *turn) judged(ctx context.Context, ask tools.Ask, q *inquiry) (d sessions.Decided, ok bool) {
	g := t.c.g
	if _, before := t.log.snapshot().Question(q.ID); t.settings.Judge == nil || before {
		return d, false
	}
	if len(ask.Grants) > 0 {
		q.Judged = "it would get what only people give"
		return d, false
	}
	o, err := t.settings.Judge.Judge(ctx, ask)
	if o.Used != (sessions.Spent{}) {
		q.beside = append(q.beside, sessions.Delegated{Turn: t.id, Used: o.Used})
	}
	switch {
	case err != nil:
		g.log.Warn("a call could not be judged by a model, so the person is asked", "task", t.id, "tool", ask.Tool, "error", err)
		q.Judged = "the model gave no clear answer"
		return d, false
	case !o.Low:
		g.log.Info("a model has left a call to the person", "task", t.id, "tool", ask.Tool, "model", o.Model, "reason", o.Reason)
		q.Judged = o.Model + ": " + o.Reason
		return d, false
	}
	g.log.Info("a model has allowed a call", "task", t.id, "tool", ask.Tool, "model", o.Model, "reason", o.Reason)
	return sessions.Decided{
		Turn: t.id, Call: q.Call, Tool: q.Tool, Allowed: true, Extent: string(tools.Once), Note: o.Reason, By: "model:" + o.Model, At: time.Now(),
	}, true
}

func decision(d sessions.Decided) tools.Decision {
	return tools.Decision{Allowed: d.Allowed, Extent: tools.Extent(d.Extent), Note: d.Note}
}

// fenced shows a text as it is, and what could hide or turn around a part of it by its code. The fence is longer than any
// that the text has in it.
func fenced(text string) string {
	text = unveiled(text)
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}

// unveiled writes characters that cannot be seen, but for line breaks and tabs, as their codes.
func unveiled(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// allowedBefore looks for a permission that the person whose turn it is has for exactly this call.
func (t *turn) allowedBefore(ask tools.Ask) (sessions.Decided, bool) {
	found, ok := t.log.snapshot().Approval(ask.Rule, t.requester)
	if !ok || found.Forever && !ask.Always {
		return sessions.Decided{}, false
	}
	extent := tools.ForSession
	if found.Forever {
		extent = tools.Always
	}
	t.c.g.log.Info("allowed before", "task", t.id, "tool", ask.Tool, "extent", extent)
	return sessions.Decided{
		Turn: t.id, Call: callOf(ask.Scope), Tool: ask.Tool, Allowed: true, Extent: string(extent), Note: "allowed before", By: found.By, At: time.Now(),
	}, true
}

// verdict says under a question how it ended. The sign is what commands begin with there.
func verdict(d tools.Decision, err error, sign string) string {
	switch {
	case err != nil:
		return "No longer needed."
	case !d.Allowed:
		return "Not done: " + d.Note + "."
	case d.Extent == tools.ForSession:
		return "Allowed for this session."
	case d.Extent == tools.Always:
		return "Allowed for good. `" + sign + "approvals` shows and revokes it."
	}
	return "Allowed."
}

// permission reads a plain word as the answer to a question for permission.
func permission(m *platforms.Message, q sessions.Question) (d sessions.Decided, ok bool) {
	if m.Forwarded {
		return d, false
	}
	switch strings.ToLower(strings.TrimSpace(m.Text)) {
	case "yes", "y", "ok", "okay", "allow", "approve", "once", "👍":
		return allowed(q, tools.Once), true
	case "session", "this session":
		return allowed(q, tools.ForSession), true
	case "always":
		return allowed(q, tools.Always), true
	case "no", "n", "deny", "cancel", "👎":
		return denied(m.Sender, ""), true
	}
	return d, false
}

// allowed is a yes. More than what was offered is taken for as much as was.
func allowed(q sessions.Question, extent tools.Extent) sessions.Decided {
	switch {
	case q.Rule == "":
		extent = tools.Once
	case extent == tools.Always && !q.Always:
		extent = tools.ForSession
	}
	return sessions.Decided{Allowed: true, Extent: string(extent)}
}

// denied is a no, with a reason if there is one.
func denied(by platforms.Person, reason string) sessions.Decided {
	note := "denied by " + who(by)
	if reason != "" {
		note += ": " + clip(strings.Join(strings.Fields(reason), " "), 300)
	}
	return sessions.Decided{Note: note}
}
