package tools

import (
	"context"
	"encoding/json"
)

// Approver asks a person for permission. It is implemented by the gateway, which asks in the chat.
type Approver interface {
	// Approve blocks until somebody who may has answered, the wait is over (denied), or the context ends (an error).
	Approve(ctx context.Context, ask Ask) (Decision, error)
}

// Ask is a question for permission.
type Ask struct {
	Scope   Scope
	Tool    string
	Preview string // exactly what would be done
	Reason  string // why it needs permission, one short sentence
}

// Decision answers an Ask. By names who decided, for the model and the log.
type Decision struct {
	Allowed bool
	Note    string // why not: "denied by ...", "nobody answered within 5 minutes"
}

// Verdict is what the policy says about a call.
type Verdict string

const (
	Allow      Verdict = "allow"
	AskFirst   Verdict = "ask"
	DenyAlways Verdict = "deny"
)

// Policy decides, without asking anybody, which calls need a person's permission. It is pure.
type Policy interface {
	Judge(spec Spec, arguments json.RawMessage) (Verdict, string)
}

// AskByRisk is the policy that asks before calls of the listed risks and allows all others.
type AskByRisk []Risk

// reasons tells a person why a call of a risk needs permission.
var reasons = map[Risk]string{
	ReadOnly: "It reads what this conversation may see.",
	Writes:   "It changes files of this conversation.",
	Executes: "It runs a program on the machine that I work on.",
}

// Judge implements Policy.
func (p AskByRisk) Judge(spec Spec, _ json.RawMessage) (Verdict, string) {
	for _, r := range p {
		if spec.Risk == r {
			return AskFirst, reasons[r]
		}
	}
	return Allow, ""
}
