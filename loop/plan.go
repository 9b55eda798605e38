package loop

import (
	"slices"

	"github.com/talaria-agent/talaria/sessions"
)

const maxParallel = 8

// plan is what is to become of the calls of one reply. They run in steps, one after the other; the calls of one step run
// side by side. It is made before the reply is written down, and written down with it, so that the log of a turn that is
// cut off tells which calls have not begun.
type plan struct {
	calls []prepared
	ends  []int // of the steps, as indexes of calls
}

// plan prepares the calls of a reply. At most left of them run.
func (t *turn) plan(calls []requested, left int) plan {
	var all []prepared
	for i, c := range calls {
		p := t.tools.prepare(c)
		if i >= left {
			p.refuse(sessions.OutcomeSkipped, fault{}, budgetSpent(c.Name))
		}
		all = append(all, p)
	}
	return inSteps(all)
}

// inSteps arranges calls.
func inSteps(calls []prepared) plan {
	p := plan{calls: calls}
	for from := 0; from < len(calls); {
		from = p.stepEnd(from)
		p.ends = append(p.ends, from)
	}
	return p
}

// stepEnd returns the end of the step that begins at a call: as many calls as may run side by side.
func (p plan) stepEnd(from int) int {
	to := from + 1
	for to < len(p.calls) && to-from < maxParallel {
		for _, before := range p.calls[from:to] {
			if !before.beside(p.calls[to]) {
				return to
			}
		}
		to++
	}
	return to
}

// noted returns the plan as it is written down, nil if all calls may begin at once.
func (p plan) noted() []sessions.Planned {
	var all []sessions.Planned
	step := 1
	for i, c := range p.calls {
		if i == p.ends[step-1] {
			step++
		}
		planned := sessions.Planned{Step: step, Asks: c.asks()}
		if c.outcome != "" {
			planned = sessions.Planned{}
		}
		all = append(all, planned)
	}
	if slices.ContainsFunc(all, func(n sessions.Planned) bool { return n != sessions.Planned{Step: 1} }) {
		return all
	}
	return nil
}
