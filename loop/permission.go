package loop

import (
	"context"
	"encoding/json"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// ask asks a person for permission. The turn's clock stands still meanwhile.
func (e *execution) ask(ctx context.Context, p prepared) (early finished, over bool) {
	t := e.t
	early = finished{call: p.call, outcome: sessions.OutcomeDenied, fault: fault{tools.FailPermission, atCall}}
	if t.runner.Approver == nil {
		early.text = deniedCall(p.call.Name, "it needs permission, and nobody can be asked here").text()
		return early, true
	}
	t.emit(AwaitingApproval{CallID: p.call.ID, Tool: p.call.Name, Preview: oneLine(p.preview)})
	t.clock.pause()
	scope := t.Scope
	scope.CallID = p.call.ID
	preview := p.preview
	if p.spec.Details != nil {
		preview = p.spec.Details(json.RawMessage(p.call.Arguments))
	}
	decision, err := t.Tape.Approve(ctx, t.lane, p.call.ID, func() (tools.Decision, error) {
		return t.runner.Approver.Approve(ctx, tools.Ask{
			Scope: scope, Tool: p.call.Name, Preview: preview, Reason: p.judged.Reason, Rule: p.judged.Rule,
			Always: p.judged.Rule != "" && !p.judged.Fleeting, Grants: p.judged.Grants,
		})
	})
	t.clock.resume()
	t.emit(ApprovalOver{CallID: p.call.ID, Tool: p.call.Name, Allowed: err == nil && decision.Allowed})
	switch {
	case ctx.Err() != nil:
		early.outcome, early.text = sessions.OutcomeInterrupted, notStartedText
	case err != nil:
		t.log.Warn("asking for approval failed", "tool", p.call.Name, "err", err)
		early.text = deniedCall(p.call.Name, "permission could not be asked for").text()
	case !decision.Allowed:
		early.text = deniedCall(p.call.Name, decision.Note).text()
	default:
		return finished{}, false
	}
	return early, true
}
