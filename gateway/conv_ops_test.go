package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/ops"
)

// promHost is where the scripts' Prometheus is, on the rig's network.
const promHost = "prometheus.test"

// opsTools makes the tools that read logs, metrics and documents, if the script says "ops = yes" in its config: the files
// whose names begin with "logs/" and "docs/", and what "metrics" holds.
func (r *rig) opsTools(script *txtar.Archive) ([]tools.Tool, error) {
	if !r.ops {
		return nil, nil
	}
	for _, f := range script.Files {
		if !strings.HasPrefix(f.Name, "logs/") && !strings.HasPrefix(f.Name, "docs/") {
			continue
		}
		path := filepath.Join(r.opsFolder, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			return nil, err
		}
	}
	return ops.New(ops.Options{
		Logs: []string{filepath.Join(r.opsFolder, "logs/*.log")}, Documents: []string{filepath.Join(r.opsFolder, "docs")},
		Prometheus: "http://" + promHost, Zone: time.UTC, Dial: r.net.Dial,
	})
}

// prometheus answers as Prometheus does, about the series of a script, one a line:
//
//	NAME{LABELS} BEGIN STEP: VALUE VALUE ...
//
// A query is the name of a metric, alone.
type prometheus []promSeries

type promSeries struct {
	name   string
	labels map[string]string
	begin  time.Time
	step   time.Duration
	values []string
}

func parsePrometheus(text string) (p prometheus, err error) {
	for line := range strings.Lines(text) {
		head, values, ok := strings.Cut(strings.TrimSpace(line), ": ")
		words := strings.Fields(head)
		if !ok || len(words) != 3 {
			return nil, fmt.Errorf("metrics: no such line %q", line)
		}
		s := promSeries{labels: map[string]string{}, values: strings.Fields(values)}
		name, labels, _ := strings.Cut(strings.TrimSuffix(words[0], "}"), "{")
		s.name, s.labels["__name__"] = name, name
		for label := range strings.SplitSeq(labels, ",") {
			if key, value, ok := strings.Cut(label, "="); ok {
				s.labels[key] = strings.Trim(value, `"`)
			}
		}
		if s.begin, err = time.Parse(time.RFC3339, words[1]); err != nil {
			return nil, err
		}
		if s.step, err = time.ParseDuration(words[2]); err != nil {
			return nil, err
		}
		p = append(p, s)
	}
	return p, nil
}

// besidePrometheus puts the server of a script's metrics beside the platform, under a host name of its own.
func (r *rig) besidePrometheus(platform http.Handler, metrics string) http.Handler {
	p, err := parsePrometheus(metrics)
	if err != nil {
		r.t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Host == promHost {
			p.ServeHTTP(w, request)
			return
		}
		platform.ServeHTTP(w, request)
	})
}

// at returns the value that counts at a moment: the newest that is not older than five minutes.
func (s promSeries) at(t time.Time) (string, bool) {
	i := int(t.Sub(s.begin) / s.step)
	newest := min(i, len(s.values)-1)
	if t.Before(s.begin) || t.Sub(s.begin.Add(time.Duration(newest)*s.step)) > 5*time.Minute {
		return "", false
	}
	return s.values[newest], true
}

func (p prometheus) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(status int, body map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	query := r.FormValue("query")
	if strings.ContainsAny(query, "() ") {
		answer(http.StatusBadRequest, map[string]any{"status": "error", "errorType": "bad_data", "error": "1:1: parse error: only names are known here"})
		return
	}
	seconds := func(key string) float64 {
		n, _ := strconv.ParseFloat(r.FormValue(key), 64)
		return n
	}
	result := []any{}
	for _, s := range p {
		if s.name != query {
			continue
		}
		values := [][2]any{}
		for at := seconds("start"); at <= seconds("end") && seconds("step") > 0; at += seconds("step") {
			if value, ok := s.at(time.UnixMilli(int64(at * 1000))); ok {
				values = append(values, [2]any{at, value})
			}
		}
		if len(values) > 0 {
			result = append(result, map[string]any{"metric": s.labels, "values": values})
		}
	}
	switch r.URL.Path {
	case "/api/v1/query_range":
		answer(http.StatusOK, map[string]any{"status": "success", "data": map[string]any{"resultType": "matrix", "result": result}})
	case "/api/v1/label/__name__/values":
		names := []string{}
		for _, s := range p {
			names = append(names, s.name)
		}
		answer(http.StatusOK, map[string]any{"status": "success", "data": names})
	default:
		http.NotFound(w, r)
	}
}
