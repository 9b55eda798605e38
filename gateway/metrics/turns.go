package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/talaria-agent/talaria/loop"
)

// turns counts what the loop tells about running turns. What a sub-agent does counts like the turn's own, but for its
// end.
type turns struct {
	known func(tool string) bool // set before the first turn; nil = every tool is known

	ended        *prometheus.CounterVec
	rounds       *prometheus.HistogramVec
	calls        *prometheus.CounterVec
	failures     *prometheus.CounterVec
	took         *prometheus.HistogramVec
	circuits     *prometheus.CounterVec
	approvals    *prometheus.CounterVec
	fallbacks    *prometheus.CounterVec
	retries      *prometheus.CounterVec
	compressions *prometheus.CounterVec
}

func newTurns(r register) turns {
	return turns{
		ended:        r.counter("turns_ended_total", "Turns that ended, by the reason.", "reason"),
		rounds:       r.histogram("turn_rounds", "Model calls of a turn, by the reason of its end.", few, "reason"),
		calls:        r.counter("tool_calls_total", "Tool calls that have their result, by the outcome.", "tool", "outcome"),
		failures:     r.counter("tool_failures_total", "Tool calls that failed: of what, and at which stage.", "tool", "class", "stage"),
		took:         r.histogram("tool_seconds", "How long tool calls ran.", slow, "tool"),
		circuits:     r.counter("tool_circuits_opened_total", "How often a tool had failed so often in a row that its turn could not call it any more.", "tool"),
		approvals:    r.counter("approvals_total", "Questions for permission that were answered, or not in time.", "allowed"),
		fallbacks:    r.counter("model_fallbacks_total", "How often a turn gave a model up and asked the next one.", "from", "to", "class"),
		retries:      r.counter("model_retries_total", "Model calls that a turn made again.", "class"),
		compressions: r.counter("compressions_total", "Histories that were made smaller: by a summary, or by leaving out old results.", "how"),
	}
}

func (t *turns) observe(e loop.Event) {
	switch e := e.(type) {
	case loop.CallEnded:
		tool := t.name(e.Tool)
		t.calls.WithLabelValues(tool, string(e.Outcome)).Inc()
		if e.Class != "" {
			t.failures.WithLabelValues(tool, string(e.Class), e.Stage).Inc()
		}
		if e.Took > 0 {
			t.took.WithLabelValues(tool).Observe(e.Took.Seconds())
		}
	case loop.CircuitOpened:
		t.circuits.WithLabelValues(t.name(e.Tool)).Inc()
	case loop.ApprovalOver:
		allowed := "no"
		if e.Allowed {
			allowed = "yes"
		}
		t.approvals.WithLabelValues(allowed).Inc()
	case loop.FellBack:
		t.fallbacks.WithLabelValues(e.From, e.To, string(e.Class)).Inc()
	case loop.Retrying:
		t.retries.WithLabelValues(string(e.Class)).Inc()
	case loop.Compacted:
		how := "summary"
		if e.Pruned {
			how = "pruned"
		}
		t.compressions.WithLabelValues(how).Inc()
	case loop.SubAgent:
		if _, over := e.Event.(loop.Ended); !over {
			t.observe(e.Event)
		}
	case loop.Ended:
		t.ended.WithLabelValues(string(e.Outcome.Reason)).Inc()
		t.rounds.WithLabelValues(string(e.Outcome.Reason)).Observe(float64(e.Outcome.Rounds))
	}
}

// name is the label of a tool: models make names up.
func (t *turns) name(tool string) string {
	if t.known != nil && !t.known(tool) {
		return "unknown"
	}
	return tool
}

// models counts calls to models, whoever makes them.
type models struct {
	calls  *prometheus.CounterVec
	took   *prometheus.HistogramVec
	tokens *prometheus.CounterVec
	cost   *prometheus.CounterVec
}

func newModels(r register) models {
	return models{
		calls:  r.counter("model_calls_total", "Calls to models, by what went wrong; \"none\" if nothing did.", "model", "class"),
		took:   r.histogram("model_seconds", "How long calls to models took.", slow, "model"),
		tokens: r.counter("model_tokens_total", "Tokens as the providers count them. Cached is a part of input, reasoning one of output.", "model", "kind"),
		cost:   r.counter("model_cost_dollars_total", "What the calls cost, as far as prices are known.", "model"),
	}
}

func (m *models) called(c loop.Called) {
	class := string(c.Class)
	if class == "" {
		class = "none"
	}
	m.calls.WithLabelValues(c.Model, class).Inc()
	m.took.WithLabelValues(c.Model).Observe(c.Took.Seconds())
	for kind, n := range map[string]int{
		"input": c.Usage.Input, "cached": c.Usage.Cached, "output": c.Usage.Output, "reasoning": c.Usage.Reasoning,
	} {
		if n > 0 {
			m.tokens.WithLabelValues(c.Model, kind).Add(float64(n))
		}
	}
	m.cost.WithLabelValues(c.Model).Add(c.Cost)
}
