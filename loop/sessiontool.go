package loop

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// SessionTool is an agent-level tool: it sees the session of the turn that calls it, and changes it by entries that the
// state layer commits together with the result. Its plain Call is never used inside a turn. One that reads the session
// must not be Parallel. Sub-agents have none of these.
type SessionTool interface {
	tools.Tool
	// CallSession is Call within a turn. The entries must be such as can follow in the turn's session; those of a call
	// that did not come to a good end are dropped, except for Delegated ones: what was used is used.
	CallSession(ctx context.Context, call SessionCall, arguments json.RawMessage) (tools.Result, []sessions.Entry, error)
}

// SessionCall is what a SessionTool knows about the turn that calls it and what it can do there. It is of no use after
// the call.
type SessionCall struct {
	Scope   tools.Scope
	Session *sessions.Session // must not be changed

	t    *turn
	over *atomic.Bool // the call has its result
}

// Ask puts a question to the person. The turn's clock stands still meanwhile.
func (c SessionCall) Ask(ctx context.Context, q tools.Question) (tools.Answer, error) {
	if c.t.runner.Asker == nil {
		return tools.Answer{Note: "nobody can be asked here"}, nil
	}
	c.t.clock.pause()
	defer c.t.clock.resume()
	q.Scope = c.Scope
	return c.t.Tape.Answer(ctx, c.t.lane, c.Scope.CallID, func() (tools.Answer, error) { return c.t.runner.Asker.Ask(ctx, q) })
}

// PlainTools returns the tools of the turn that are not agent-level ones: those that a sub-agent can have.
func (c SessionCall) PlainTools() (plain []tools.Tool) {
	for _, t := range c.t.Tools.Tools() {
		if _, ok := t.(SessionTool); !ok {
			plain = append(plain, t)
		}
	}
	return plain
}

// emit tells the observer of the turn about something that happens within the call, unless the call is over.
func (c SessionCall) emit(e Event) {
	c.t.telling.Lock()
	defer c.t.telling.Unlock()
	if !c.over.Load() && c.t.Observe != nil {
		c.t.Observe(e)
	}
}

// kept returns those entries of a call that are committed with its result.
func kept(entries []sessions.Entry, outcome sessions.Outcome) []sessions.Entry {
	if outcome == sessions.OutcomeOK {
		return entries
	}
	var out []sessions.Entry
	for _, e := range entries {
		if _, ok := e.(sessions.Delegated); ok {
			out = append(out, e)
		}
	}
	return out
}
