// Package metrics counts for Prometheus what a gateway, its loop and its models do. A Metrics is what gateway.Parts and
// loop.Chain have as their observer; besides, it looks at the gateway whenever somebody reads the figures.
//
// It starts no goroutine, blocks nobody and may be used from any goroutine. No label holds what people or models can
// make up: neither chats, people and conversations nor the names of tools that do not exist.
package metrics

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// Metrics holds the counters of one process, which begin at zero.
type Metrics struct {
	registry *prometheus.Registry

	foundItems, foundRows prometheus.Gauge
	accepted, settled     *prometheus.CounterVec
	strangers             *prometheus.CounterVec
	firstSign, answer     *prometheus.HistogramVec
	rows, ended, retried  *prometheus.CounterVec
	edits                 *prometheus.CounterVec

	turns  turns
	models models
}

// New makes the counters.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	r := register{m.registry}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.gauge("build", "Always 1; the label has the version.", prometheus.Labels{"version": version}).Set(1)
	m.foundItems = r.gauge("inbox_found", "Accepted updates that an earlier process had left without an outcome.", nil)
	m.foundRows = r.gauge("outbox_found", "Messages that an earlier process had left undelivered, those in doubt included.", nil)
	m.accepted = r.counter("inbox_accepted_total", "Updates that were accepted.", "platform")
	m.settled = r.counter("inbox_ended_total", "Accepted updates that got their outcome. inbox_found + inbox_accepted_total = inbox_ended_total + inbox_pending.", "platform", "ending")
	m.strangers = r.counter("strangers_refused_total", "Updates of people who may not talk to the bot.", "platform")
	m.firstSign = r.histogram("first_sign_seconds", "From the acceptance of a message to the first thing that its author can see of it.", quick, "platform")
	m.answer = r.histogram("answer_seconds", "From the acceptance of a message to its delivered answer.", slow, "platform")
	m.rows = r.counter("outbox_queued_total", "Messages that were put into the outbox.", "platform")
	m.ended = r.counter("outbox_ended_total", "Messages of which the delivery ended: sent, dead or in doubt. outbox_found + outbox_queued_total = outbox_ended_total + outbox_waiting.", "platform", "state")
	m.retried = r.counter("outbox_retried_total", "Attempts to deliver that were not the last one.", "platform", "class")
	m.edits = r.counter("progress_edits_total", "Edits of progress messages: made, or saved because the next one tells the same or more.", "platform", "what")
	m.turns, m.models = newTurns(r), newModels(r)
	return m
}

// Handler serves the figures in the format of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Watched is what is looked at whenever the figures are read.
type Watched interface {
	Gauges(ctx context.Context) (gateway.Gauges, error)
}

// Watch looks at a gateway, its platforms and the size of its database, in bytes, whenever the figures are read. Tools
// that known does not know are counted together.
func (m *Metrics) Watch(g Watched, adapters []platforms.Adapter, size func() (int64, error), known func(tool string) bool) {
	m.turns.known = known
	m.registry.MustRegister(&snapshot{gateway: g, adapters: adapters, size: size})
}

// Observe counts what the gateway tells.
func (m *Metrics) Observe(e gateway.Event) {
	switch e := e.(type) {
	case gateway.Began:
		m.foundItems.Set(float64(e.Items))
		m.foundRows.Set(float64(e.Rows))
	case gateway.Accepted:
		m.accepted.WithLabelValues(string(e.Platform)).Inc()
	case gateway.Settled:
		m.settled.WithLabelValues(string(e.Platform), string(e.Ending)).Add(float64(e.Count))
	case gateway.Stranger:
		m.strangers.WithLabelValues(string(e.Platform)).Inc()
	case gateway.Signed:
		m.firstSign.WithLabelValues(string(e.Platform)).Observe(e.Waited.Seconds())
	case gateway.RowQueued:
		m.rows.WithLabelValues(string(e.Platform)).Inc()
	case gateway.RowRetried:
		m.retried.WithLabelValues(string(e.Platform), string(e.Class)).Inc()
	case gateway.RowSettled:
		m.ended.WithLabelValues(string(e.Platform), string(e.State)).Inc()
		if e.State == sessions.Sent && e.Waited > 0 {
			m.answer.WithLabelValues(string(e.Platform)).Observe(e.Waited.Seconds())
		}
	case gateway.Edited:
		what := "made"
		if e.Saved {
			what = "saved"
		}
		m.edits.WithLabelValues(string(e.Platform), what).Inc()
	case gateway.InTurn:
		m.turns.observe(e.Event)
	}
}

// Called counts a call to a model.
func (m *Metrics) Called(c loop.Called) { m.models.called(c) }
