package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// Approver asks a person for permission. It is implemented by the gateway, which asks in the chat.
type Approver interface {
	// Approve blocks until somebody who may has answered, the wait is over (denied), or the context ends (an error). It
	// returns at once if the same call was allowed before for longer than once. That a call is allowed is in the log of its
	// turn before it returns: a call of which the log does not say so is taken for one that has not begun.
	Approve(ctx context.Context, ask Ask) (Decision, error)
}

// Ask is a question for permission.
type Ask struct {
	Scope   Scope
	Tool    string
	Preview string  // exactly what would be done
	Reason  string  // why it needs permission, a few short sentences
	Rule    string  // names exactly this call, see Judgement; empty = it can be allowed only once
	Always  bool    // it may be allowed for good
	Grants  []Grant // what a permission includes
}

// Extent is how far a permission reaches.
type Extent string

const (
	Once       Extent = "once"
	ForSession Extent = "session" // until the person begins a new session
	Always     Extent = "always"  // until it is revoked
)

// Decision answers an Ask.
type Decision struct {
	Allowed bool
	Extent  Extent // of a permission
	Note    string // why not: "denied by ...", "nobody answered within 5 minutes"
}

// Verdict is what the policy says about a call.
type Verdict string

const (
	Allow      Verdict = "allow"
	AskFirst   Verdict = "ask"
	DenyAlways Verdict = "deny"
)

// Grant is something that a call gets only by a person's permission.
type Grant string

// GrantNetwork lets a command use the network.
const GrantNetwork Grant = "network"

// GrantSecrets lets a call touch files that hold credentials.
const GrantSecrets Grant = "secrets"

// Judgement is what the policy says about a call.
type Judgement struct {
	Verdict Verdict
	Reason  string  // for the person who is asked, or the model that is refused; empty if it is simply allowed
	Grants  []Grant // what a permission includes
	// Rule names exactly this call with all that it depends on: the command, the folder, the environment. A permission for
	// longer than once holds for calls with the same rule and for no others. Empty = there is none.
	Rule string
	// Fleeting: equal calls need not do the same thing, because what they run may have changed; so they are never allowed
	// for good.
	Fleeting bool
}

// Policy decides, without asking anybody, which calls need a person's permission. It is pure.
type Policy interface {
	Judge(scope Scope, spec Spec, arguments json.RawMessage) Judgement
}

// AskByRisk is the policy that lets tools judge their own calls as far as they do, asks before calls of the listed risks, and
// allows all others.
type AskByRisk []Risk

// reasons tells a person why a call of a risk needs permission.
var reasons = map[Risk]string{
	ReadOnly: "It reads what this conversation may see.",
	Writes:   "It changes files of this conversation.",
	Executes: "It runs a program on the machine that I work on.",
	Outside:  "It changes something outside of this conversation's work folder.",
}

// Judge implements Policy.
func (p AskByRisk) Judge(scope Scope, spec Spec, arguments json.RawMessage) Judgement {
	if spec.Judge != nil {
		if j := spec.Judge(scope, arguments); j.Verdict != "" {
			return j
		}
	}
	if !slices.Contains(p, spec.Risk) {
		return Judgement{Verdict: Allow}
	}
	return Judgement{Verdict: AskFirst, Reason: reasons[spec.Risk], Rule: Rule(spec.Name, string(arguments), scope.Work)}
}

// Unasked allows what another policy would ask about, without what only a permission gives. What is never allowed stays
// so.
type Unasked struct{ Policy }

// Judge implements Policy.
func (p Unasked) Judge(scope Scope, spec Spec, arguments json.RawMessage) Judgement {
	j := p.Policy.Judge(scope, spec, arguments)
	if j.Verdict == AskFirst {
		return Judgement{Verdict: Allow}
	}
	return j
}

// Rule makes a rule of everything that a call depends on.
func Rule(parts ...string) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(parts) // writing to a hash does not fail
	return hex.EncodeToString(h.Sum(nil)[:16])
}
