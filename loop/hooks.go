package loop

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"

	"github.com/talaria-agent/talaria/tools"
)

// hooked makes a call between the operator's hooks. They are asked once a call, however often it is tried.
func (t *turn) hooked(ctx context.Context, p prepared, scope tools.Scope, over *atomic.Bool) Returned {
	arguments := json.RawMessage(p.call.Arguments)
	var notes []string
	for _, hook := range t.runner.Hooks {
		say, err := hook.Before(ctx, scope, p.spec, arguments)
		switch {
		case err != nil:
			t.log.Error("a hook failed, so the call was refused", "call", p.call.ID, "tool", p.call.Name, "err", err)
			return refusedByHook("the operator's check of it did not work")
		case say.Deny:
			t.log.Info("call refused by a hook", "call", p.call.ID, "tool", p.call.Name, "reason", say.Reason)
			return refusedByHook(say.Reason)
		case say.Note != "":
			notes = append(notes, say.Note)
		}
	}
	c := t.callUntilItWorks(ctx, p, scope, over)
	if c.Err != nil {
		return c
	}
	for _, hook := range t.runner.Hooks {
		say, err := hook.After(ctx, scope, p.spec, arguments, c.Result)
		if err != nil {
			t.log.Warn("a hook failed after the call", "call", p.call.ID, "tool", p.call.Name, "err", err)
		} else if say.Note != "" {
			notes = append(notes, say.Note)
		}
	}
	c.Note = strings.Join(notes, "\n")
	return c
}

func refusedByHook(reason string) Returned {
	if reason == "" {
		reason = "no reason was given"
	}
	return Returned{Result: tools.Result{
		Text: "The operator's rules do not allow this call: " + reason + ". Do without it, or ask the person.", Failed: true, Class: tools.FailPermission,
	}}
}
