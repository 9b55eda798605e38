package loop

import (
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// health is what a task has learnt about its tools: for which of them the arguments were wrong in a row, and which of
// them failed in a row. It belongs to the turn's goroutine. A restart forgets it, since what failed may work now.
type health struct {
	retries   int // corrections of wrong arguments that are explained in full
	threshold int // failures in a row that make a tool unavailable
	wrong     map[string]int
	failed    map[string]int
	struck    map[string]bool // a failure was counted for the reply that is being executed
	opened    func(tool string)
}

func newHealth(l Limits, opened func(tool string)) *health {
	return &health{
		retries: max(l.RetryPerTool, 0), threshold: l.CircuitBreak, wrong: map[string]int{}, failed: map[string]int{}, opened: opened,
	}
}

// open tells whether a tool has failed so often that it is not called any more. The circuit stays open until the end of
// the task.
func (h *health) open(tool string) bool { return h.failed[tool] >= h.threshold }

// looked takes the calls of one reply into account, as they were prepared. Wrong arguments count once a reply, however
// many of its calls have them. After the last retry the refusal says to go on without the call, and every further one
// counts as a failure of the tool, so that nobody corrects arguments for ever.
func (h *health) looked(calls []prepared) {
	wrong := map[string]bool{}
	for _, p := range calls {
		if p.fault.class == tools.FailArguments {
			wrong[p.call.Name] = true
		}
	}
	h.struck = map[string]bool{}
	for name := range wrong {
		if h.wrong[name]++; h.wrong[name] > h.retries {
			h.fail(name)
		}
	}
	for i := range calls {
		p := &calls[i]
		switch {
		case !wrong[p.call.Name]:
			delete(h.wrong, p.call.Name)
		case p.fault.class == tools.FailArguments && h.wrong[p.call.Name] > h.retries:
			p.refusal = givenUp(p.refusal, h.wrong[p.call.Name])
		}
	}
}

// saw takes the result of a call into account. Calls of one reply count once: they were asked for before the model knew.
func (h *health) saw(f finished) {
	name := f.call.Name
	switch {
	case f.fault.stage == atExecution && f.fault.class.AgainstTool():
		h.fail(name)
	case (f.outcome == sessions.OutcomeOK || f.fault.stage == atExecution) && !h.open(name):
		delete(h.failed, name)
	}
}

func (h *health) fail(tool string) {
	if !h.struck[tool] {
		h.struck[tool] = true
		h.failed[tool]++
		if h.failed[tool] == h.threshold {
			h.opened(tool)
		}
	}
}
