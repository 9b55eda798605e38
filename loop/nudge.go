package loop

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// A nudge asks the model once more instead of taking its answer: because it changed files and did not look whether they
// are right, or because it only said what it was going to do. Each of the two happens at most once a turn. A nudge is
// synthetic: it goes into the hint of one request, together with the answer that was held back, and neither of them is
// ever written down. If the model has nothing better to say, the held back answer is the answer.

// Nudge says why an answer was held back.
type Nudge string

const (
	NudgeVerify Nudge = "unverified changes"
	NudgeAct    Nudge = "announced without a call"
)

const (
	verifyHint = "You changed %s and have not checked the result. Your answer has not been sent yet:\n\n<draft>\n%s\n</draft>\n\n" +
		"Check now: run what proves it, or read what you changed. If it cannot be checked, or a check makes no sense here, " +
		"give your answer again and say that it is not checked."
	actHint = "You wrote what you are going to do, but called no tool, so nothing has happened:\n\n<draft>\n%s\n</draft>\n\n" +
		"Do it now with a tool call. If nothing is left to do, give the answer itself."
	maxDraft     = 6_000 // bytes of a held back answer in a hint
	namedChanges = 5     // changed files named in a hint
)

// holdBack decides whether the reply is an answer. If it is not, the hint for the next call is set.
func (t *turn) holdBack() bool {
	if t.ending != "" || t.reply.cut || slices.ContainsFunc(t.conditions(), condition.holds) {
		return false
	}
	var why Nudge
	text := prefix(t.reply.message.Text, maxDraft)
	switch {
	case !t.nudged[NudgeAct] && t.tools.any() && announces(t.reply.message.Text):
		why, t.nudge = NudgeAct, fmt.Sprintf(actHint, text)
	case !t.nudged[NudgeVerify] && t.changes.open() && t.tools.canVerify():
		why, t.nudge = NudgeVerify, fmt.Sprintf(verifyHint, t.changes, text)
	default:
		return false
	}
	draft := t.reply
	t.draft, t.nudged[why] = &draft, true
	t.log.Info("answer held back", "why", why, "changed", t.changes.String())
	t.emit(Nudged{Round: t.budget.rounds, Why: why})
	return true
}

// changes are the files that a turn has changed and not checked since.
type changes map[string]bool

func (c changes) open() bool { return len(c) > 0 }

// String names the files, for the model and the log.
func (c changes) String() string {
	names := slices.Sorted(maps.Keys(c))
	if more := len(names) - namedChanges; more > 0 {
		names = append(names[:namedChanges], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// saw takes a call that ran into account.
func (c changes) saw(spec tools.Spec, paths []string, f finished) {
	ran := f.outcome == sessions.OutcomeOK || f.outcome == sessions.OutcomeFailed && f.fault.class == tools.FailCommand
	switch {
	case spec.Verifies && ran:
		clear(c)
	case spec.Risk == tools.Writes && (ran || f.outcome == sessions.OutcomeUnknown || f.outcome == sessions.OutcomeTimedOut):
		for _, p := range paths {
			c[path.Clean(p)] = true
		}
	case spec.Risk == tools.ReadOnly && ran:
		for _, p := range paths {
			delete(c, path.Clean(p))
		}
	}
}

// recall takes the calls of a turn into account that an earlier process ran. How they came out is not known, so all of
// them count.
func (c changes) recall(s *toolset, calls []sessions.ToolCall) {
	for _, call := range calls {
		if p := s.prepare(requested{ToolCall: call}); p.outcome == "" {
			c.saw(p.spec, p.paths, finished{call: call, outcome: sessions.OutcomeOK})
		}
	}
}

// ChangedFiles returns the files that calls among entries of a log changed, or may have, as far as the tools say which.
// Each call must come before its result.
func ChangedFiles(registry *tools.Registry, entries []sessions.Entry) []string {
	calls, changed := map[string]sessions.ToolCall{}, changes{}
	for _, e := range entries {
		switch e := e.(type) {
		case sessions.AssistantMessage:
			for _, c := range e.Message.ToolCalls {
				calls[c.ID] = c
			}
		case sessions.ToolResult:
			c := calls[e.Message.ToolCallID]
			tool, ok := registry.Lookup(c.Name)
			if ok && tool.Spec().Risk == tools.Writes && tool.Spec().Paths != nil && e.Outcome != sessions.OutcomeRefused {
				changed.saw(tool.Spec(), tool.Spec().Paths(json.RawMessage(c.Arguments)), finished{outcome: e.Outcome})
			}
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

// any tells whether there are tools at all.
func (s *toolset) any() bool { return s.registry != nil && len(s.registry.Names()) > 0 }

// canVerify tells whether there is a tool with which changed files can be checked.
func (s *toolset) canVerify() bool {
	return s.registry != nil && slices.ContainsFunc(s.registry.Tools(), func(t tools.Tool) bool {
		spec := t.Spec()
		return spec.Verifies || spec.Risk == tools.ReadOnly && spec.Paths != nil
	})
}
