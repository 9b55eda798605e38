package tools

import (
	"context"
	"encoding/json"
)

// Hook is the operator's say in every call. Several calls may be looked at at once. A hook waits no longer than its
// context, and for nobody else's call.
type Hook interface {
	// Before looks at a call whose arguments are valid and that is allowed, just before it runs. An error counts as a refusal: a
	// guard that does not work must not be a guard that is not there.
	Before(ctx context.Context, scope Scope, spec Spec, arguments json.RawMessage) (Say, error)
	// After looks at what a call returned. It can add a note, but not undo the call: an error is for the log only.
	After(ctx context.Context, scope Scope, spec Spec, arguments json.RawMessage, result Result) (Say, error)
}

// Say is what a hook says of a call. The zero value is nothing.
type Say struct {
	Deny   bool   // the call must not run; only before it
	Reason string // of a refusal, for the model
	Note   string // put behind the result, for the model
}
