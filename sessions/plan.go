package sessions

import "slices"

// Plan is when each call of a reply begins, by the call's id. It is empty if nothing is known: then any may have begun.
type Plan map[string]Planned

func planOf(e AssistantMessage) Plan {
	if len(e.Plan) != len(e.Message.ToolCalls) || len(e.Plan) == 0 {
		return nil
	}
	p := Plan{}
	for i, c := range e.Message.ToolCalls {
		p[c.ID] = e.Plan[i]
	}
	return p
}

// Unstarted tells which of the open calls are known to have done nothing. Some can be made again: those that nobody has
// allowed yet or that a person refused, and the model's own questions. The others come after a call that has no result
// yet, or would never have run.
func (t *Turn) Unstarted() (again, others []ToolCall) {
	step, waits := t.step(), false
	for _, c := range t.Open {
		planned, known := t.Plan[c.ID]
		q := slices.IndexFunc(t.Questions, func(q Question) bool { return q.Call == c.ID })
		var decided *Decided
		if q >= 0 {
			decided = t.Questions[q].Decided
		}
		question := q >= 0 && t.Questions[q].Tool == ""
		switch {
		case known && (planned.Step == 0 || planned.Step != step):
			others = append(others, c)
		case question, q >= 0 && (decided == nil || !decided.Allowed), planned.Asks && decided == nil:
			again = append(again, c)
			waits = waits || question || decided == nil
		case waits:
			others = append(others, c)
		}
	}
	return again, others
}

// step is the first step of the plan that has an open call: the last one that can have begun.
func (t *Turn) step() (first int) {
	for _, c := range t.Open {
		if n := t.Plan[c.ID].Step; n > 0 && (first == 0 || n < first) {
			first = n
		}
	}
	return first
}
