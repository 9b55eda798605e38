package ops

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// answer is what Prometheus answered: series, or one value without a name.
type answer struct {
	series   []series
	plain    string // a number or a text
	warnings []string
}

// series is one line of points, in the order of time.
type series struct {
	labels     string
	points     []point
	histograms int // points that are histograms, which are not read
}

type point struct {
	at    time.Time
	value float64
}

func (p *point) UnmarshalJSON(raw []byte) error {
	var at float64
	var value string
	if err := json.Unmarshal(raw, &[]any{&at, &value}); err != nil {
		return err
	}
	var err error
	p.at = time.UnixMilli(int64(math.Round(at * 1000))).UTC()
	p.value, err = strconv.ParseFloat(value, 64)
	return err
}

func parseAnswer(data json.RawMessage, warnings []string) (*answer, error) {
	var wrapped struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(data, &wrapped); err != nil {
		return nil, fmt.Errorf("read the answer of Prometheus: %w", err)
	}
	a := &answer{warnings: warnings}
	var err error
	switch wrapped.ResultType {
	case "scalar", "string":
		var at float64
		err = json.Unmarshal(wrapped.Result, &[]any{&at, &a.plain})
	case "vector", "matrix":
		var all []struct {
			Metric     map[string]string `json:"metric"`
			Value      *point            `json:"value"`
			Values     []point           `json:"values"`
			Histogram  json.RawMessage   `json:"histogram"`
			Histograms []json.RawMessage `json:"histograms"`
		}
		err = json.Unmarshal(wrapped.Result, &all)
		for _, one := range all {
			s := series{labels: labels(one.Metric), points: one.Values, histograms: len(one.Histograms)}
			if one.Value != nil {
				s.points = []point{*one.Value}
			}
			if one.Histogram != nil {
				s.histograms = 1
			}
			a.series = append(a.series, s)
		}
	default:
		err = fmt.Errorf("results of type %q are not known", wrapped.ResultType)
	}
	if err != nil {
		return nil, fmt.Errorf("read the answer of Prometheus: %w", err)
	}
	return a, nil
}

// labels writes the name of a series as PromQL does.
func labels(metric map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(metric)) {
		if name != "__name__" {
			all = append(all, fmt.Sprintf("%s=%q", name, metric[name]))
		}
	}
	if len(all) == 0 {
		return cmp.Or(metric["__name__"], "{}")
	}
	return metric["__name__"] + "{" + strings.Join(all, ",") + "}"
}

func (a *answer) empty() bool { return a.plain == "" && len(a.series) == 0 }
