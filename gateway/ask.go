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

// pendingAsk is a question for permission that waits for a person.
type pendingAsk struct {
	id     string
	turn   *turn
	ask    tools.Ask
	answer chan answered
}

// answered is an answer with the person who gave it.
type answered struct {
	tools.Decision
	by string
}

// decide answers the question; only the first answer counts. An empty extent is a no. More than what was offered is taken
// for as much as was.
func (a *pendingAsk) decide(extent tools.Extent, by platforms.Person) {
	d := tools.Decision{Allowed: extent != "", Extent: extent}
	switch {
	case extent == "":
		d.Note = "denied by " + who(by)
	case a.ask.Rule == "":
		d.Extent = tools.Once
	case extent == tools.Always && !a.ask.Always:
		d.Extent = tools.ForSession
	}
	select {
	case a.answer <- answered{d, by.ID}:
	default:
	}
}

// extents say what a button allows.
var extents = map[string]tools.Extent{verbAllow: tools.Once, verbSession: tools.ForSession, verbAlways: tools.Always}

// buttons returns what there is to choose from, two a row: on a phone more would be cut off.
func (a *pendingAsk) buttons() [][]platforms.Button {
	all := []platforms.Button{{Label: "Allow", Data: buttonData(verbAllow, a.id)}}
	if a.ask.Rule != "" {
		all = append(all, platforms.Button{Label: "This session", Data: buttonData(verbSession, a.id)})
	}
	if a.ask.Always {
		all = append(all, platforms.Button{Label: "Always", Data: buttonData(verbAlways, a.id)})
	}
	all = append(all, platforms.Button{Label: "Deny", Data: buttonData(verbDeny, a.id), Danger: true})
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
	if d, ok := t.allowedBefore(ask); ok {
		return d, nil
	}
	a := &pendingAsk{id: newID(), turn: t, ask: ask, answer: make(chan answered, 1)}
	defer g.asks.put(a.id, a)()
	t.typing.pause()
	defer t.typing.resume()

	question := fmt.Sprintf("May I use **%s**?\n\n%s\n\n%s", ask.Tool, fenced(ask.Preview), ask.Reason)
	message, err := g.adapters[t.address.Platform].Send(ctx, t.address, platforms.Outgoing{
		Text: question, Key: a.id, Class: platforms.PriorityApproval, Buttons: a.buttons(),
	})
	if err != nil && platforms.ClassOf(err) != platforms.OutcomeUnknown {
		if ctx.Err() != nil {
			return tools.Decision{}, context.Cause(ctx)
		}
		return tools.Decision{Note: "the question could not be shown to anybody"}, nil
	}
	t.setAsk(a) // from here on: a word that was written before the question stood there is no answer to it
	defer t.setAsk(nil)
	t.await()
	d, err := a.wait(ctx)
	if err == nil && d.Allowed && d.Extent != tools.Once {
		t.remember(ctx, a, &d)
	}
	g.replace(t.address, message, question+"\n\n"+verdict(d.Decision, err, sign(t.address.Platform)))
	if back := t.done(ctx); err == nil {
		err = back
	}
	return d.Decision, err
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
func (t *turn) allowedBefore(ask tools.Ask) (tools.Decision, bool) {
	found, ok := t.log.snapshot().Approval(ask.Rule, t.requester)
	if !ok || found.Forever && !ask.Always {
		return tools.Decision{}, false
	}
	extent := tools.ForSession
	if found.Forever {
		extent = tools.Always
	}
	t.c.g.log.Info("allowed before", "task", t.id, "tool", ask.Tool, "extent", extent)
	return tools.Decision{Allowed: true, Extent: extent}, true
}

// remember writes a permission down. One that cannot be is for this once.
func (t *turn) remember(ctx context.Context, a *pendingAsk, d *answered) {
	err := t.log.append(ctx, sessions.Record{Entries: []sessions.Entry{sessions.Approved{
		Rule: a.ask.Rule, Tool: a.ask.Tool, Preview: a.ask.Preview, Forever: d.Extent == tools.Always,
		For: t.requester, By: d.by, At: time.Now(),
	}}})
	if err != nil {
		t.c.g.log.Warn("a permission could not be written down", "task", t.id, "error", err)
		d.Extent = tools.Once
	}
}

// wait blocks until there is an answer, time is over, or the turn is.
func (a *pendingAsk) wait(ctx context.Context) (answered, error) {
	timer := time.NewTimer(askWait)
	defer timer.Stop()
	select {
	case d := <-a.answer:
		return d, nil
	case <-timer.C:
		return answered{Decision: tools.Decision{Note: "nobody answered within 5 minutes"}}, nil
	case <-ctx.Done():
		return answered{}, context.Cause(ctx)
	}
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

func (t *turn) setAsk(a *pendingAsk) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ask = a
}

// answerAsk takes a plain word as the answer to the question that waits, and reports whether it did.
func (t *turn) answerAsk(m *platforms.Message, allowed bool) bool {
	t.mu.Lock()
	a := t.ask
	t.mu.Unlock()
	if a == nil || !allowed || m.Forwarded {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(m.Text)) {
	case "yes", "y", "ok", "okay", "allow", "approve", "once", "👍":
		a.decide(tools.Once, m.Sender)
	case "session", "this session":
		a.decide(tools.ForSession, m.Sender)
	case "always":
		a.decide(tools.Always, m.Sender)
	case "no", "n", "deny", "cancel", "👎":
		a.decide("", m.Sender)
	default:
		return false
	}
	return true
}
