package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

const (
	usualPoints = 120 // of a series
	maxPoints   = 2000
	maxQuery    = 4000 // bytes
)

type metricsArguments struct {
	Query string `json:"query" jsonschema:"PromQL"`
	Since string `json:"since,omitempty" jsonschema:"begin of the window: RFC 3339, or how long ago: 2h; default: only the moment of until"`
	Until string `json:"until,omitempty" jsonschema:"its end: RFC 3339, or how long ago; default now"`
	Step  string `json:"step,omitempty" jsonschema:"distance of the points: 30s, 5m"`
	Chart bool   `json:"chart,omitempty" jsonschema:"true = also draw the series into a PNG file"`
}

// metrics is the tool.
type metrics struct{ server *prometheus }

func newMetrics(o Options) (tools.Tool, error) {
	if o.Prometheus == "" {
		return nil, nil
	}
	m := &metrics{newPrometheus(o)}
	return tools.New(tools.Spec{
		Name: "query_metrics", Toolset: toolset, Description: metricsDescription,
		Risk: tools.ReadOnly, Parallel: true, Ranged: true, Untrusted: true,
		Check: checkMetrics, Preview: func(arguments json.RawMessage) string {
			var a metricsArguments
			_ = json.Unmarshal(arguments, &a)
			return a.Query
		},
	}, m.call)
}

func checkMetrics(arguments json.RawMessage) []tools.Problem {
	var a metricsArguments
	if err := json.Unmarshal(arguments, &a); err != nil {
		return []tools.Problem{{Problem: err.Error()}}
	}
	problems := checkWindow(a.Since, a.Until)
	if strings.TrimSpace(a.Query) == "" || len(a.Query) > maxQuery {
		problems = append(problems, tools.Problem{
			Argument: "query", Problem: fmt.Sprintf("it has %d bytes", len(a.Query)), Expected: fmt.Sprintf("PromQL of 1 to %d bytes, like rate(http_requests_total[5m])", maxQuery),
		})
	}
	if step, ok := parseSpan(a.Step); a.Step != "" && (!ok || step < time.Second) {
		problems = append(problems, tools.Problem{
			Argument: "step", Problem: fmt.Sprintf("%q is not a length of time", a.Step), Expected: `at least a second, like "30s", "5m" or "1h"`,
		})
	}
	if a.Since == "" && (a.Step != "" || a.Chart) {
		problems = append(problems, tools.Problem{
			Argument: "since", Problem: "step and chart are for a window, and it has no begin", Expected: `since, like "1h"`,
		})
	}
	return problems
}

func (m *metrics) call(ctx context.Context, scope tools.Scope, a metricsArguments) (tools.Result, error) {
	now := time.Now()
	from, to, wrong := window(a.Since, a.Until, now)
	if wrong != "" {
		return tools.Wrongf("%s.", wrong), nil
	}
	if to.IsZero() {
		to = now
	}
	q := query{text: a.Query, from: from, to: to}
	if !from.IsZero() {
		q.step = stepFor(to.Sub(from))
		if a.Step != "" {
			q.step, _ = parseSpan(a.Step)
		}
		if n := to.Sub(from) / q.step; n > maxPoints {
			return tools.Wrongf("A step of %s makes %d points of this window; at most %d are allowed. Use %s, or a shorter window.",
				a.Step, n, maxPoints, stepFor(to.Sub(from))), nil
		}
	}
	answer, err := m.server.ask(ctx, q)
	var refused *promError
	switch {
	case errors.As(err, &refused):
		return refused.explain(a.Query), nil
	case err != nil:
		return tools.Result{}, err
	}
	if answer.empty() {
		return tools.Result{Text: m.nothing(ctx, q)}, nil
	}
	series := answer.digest(q)
	text := answer.summary(q, series)
	if a.Chart {
		text += "\n" + saveChart(scope, q, series)
	}
	return tools.Result{Text: text}, nil
}

// stepFor returns a round distance that makes about the usual number of points.
func stepFor(window time.Duration) time.Duration {
	for _, step := range []time.Duration{
		time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
		10 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	} {
		if window/step <= usualPoints {
			return step
		}
	}
	return (window / usualPoints).Truncate(time.Hour)
}

// nothing says that there is no series, and which names the query may have meant.
func (m *metrics) nothing(ctx context.Context, q query) string {
	text := "No series fits the query"
	if q.step > 0 {
		text += fmt.Sprintf(" between %s and %s", q.from.UTC().Format(time.RFC3339), q.to.UTC().Format(time.RFC3339))
	}
	names, err := m.server.names(ctx)
	if err != nil {
		return text + "."
	}
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	for _, word := range metricNames(q.text) {
		if known[word] {
			continue
		}
		text += fmt.Sprintf(". There is no metric %s", word)
		if near := nearest(word, names); len(near) > 0 {
			text += "; did you mean " + strings.Join(near, ", or ") + "?"
			return text
		}
	}
	return text + ". Check the labels, and whether it was scraped at that time."
}
