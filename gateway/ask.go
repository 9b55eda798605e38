package gateway

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/tools"
)

// askWait is how long a person may take to answer before it counts as no.
const askWait = 5 * time.Minute

// pendingAsk is a question for permission that waits for a person.
type pendingAsk struct {
	id     string
	turn   *turn
	answer chan tools.Decision
}

// decide answers the question; only the first answer counts.
func (a *pendingAsk) decide(allowed bool, by platforms.Person) {
	d := tools.Decision{Allowed: allowed}
	if !allowed {
		d.Note = "denied by " + who(by)
	}
	select {
	case a.answer <- d:
	default:
	}
}

// Approve implements tools.Approver: it asks in the chat, by buttons, and waits.
func (g *Gateway) Approve(ctx context.Context, ask tools.Ask) (tools.Decision, error) {
	t := g.turns.turn(cmp.Or(ask.Scope.Parent, ask.Scope.Turn))
	if t == nil {
		return tools.Decision{Note: "there is nobody to ask"}, nil
	}
	select { // the sub-agents of a turn may all ask at once
	case t.asking <- struct{}{}:
		defer func() { <-t.asking }()
	case <-ctx.Done():
		return tools.Decision{}, context.Cause(ctx)
	}
	a := &pendingAsk{id: newID(), turn: t, answer: make(chan tools.Decision, 1)}
	g.turns.addAsk(a)
	defer g.turns.removeAsk(a)
	t.typing.pause()
	defer t.typing.resume()

	question := fmt.Sprintf("May I use **%s**?\n\n```\n%s\n```\n\n%s", ask.Tool, ask.Preview, ask.Reason)
	message, err := g.adapters[t.address.Platform].Send(ctx, t.address, platforms.Outgoing{
		Text: question, Key: a.id, Class: platforms.PriorityApproval, Buttons: [][]platforms.Button{{
			{Label: "Allow", Data: buttonData(verbAllow, a.id)},
			{Label: "Deny", Data: buttonData(verbDeny, a.id), Danger: true},
		}},
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
	g.replace(t.address, message, question+"\n\n"+verdict(d, err))
	if back := t.done(ctx); err == nil {
		err = back
	}
	return d, err
}

// wait blocks until there is an answer, time is over, or the turn is.
func (a *pendingAsk) wait(ctx context.Context) (tools.Decision, error) {
	timer := time.NewTimer(askWait)
	defer timer.Stop()
	select {
	case d := <-a.answer:
		return d, nil
	case <-timer.C:
		return tools.Decision{Note: "nobody answered within 5 minutes"}, nil
	case <-ctx.Done():
		return tools.Decision{}, context.Cause(ctx)
	}
}

// verdict says under a question how it ended.
func verdict(d tools.Decision, err error) string {
	switch {
	case err != nil:
		return "No longer needed."
	case d.Allowed:
		return "Allowed."
	default:
		return "Not done: " + d.Note + "."
	}
}

func (t *turn) setAsk(a *pendingAsk) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ask = a
}

// answerAsk takes a plain yes or no as the answer to the question that waits, and reports whether it did.
func (t *turn) answerAsk(m *platforms.Message, allowed bool) bool {
	t.mu.Lock()
	a := t.ask
	t.mu.Unlock()
	if a == nil || !allowed {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(m.Text)) {
	case "yes", "y", "ok", "okay", "allow", "approve", "👍":
		a.decide(true, m.Sender)
	case "no", "n", "deny", "cancel", "👎":
		a.decide(false, m.Sender)
	default:
		return false
	}
	return true
}
