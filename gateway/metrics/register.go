package metrics

import "github.com/prometheus/client_golang/prometheus"

// The buckets of the histograms, in seconds: for what people should see at once, and for what takes its time.
var (
	quick = []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	slow  = []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 1800}
	few   = []float64{1, 2, 3, 5, 10, 20, 50, 90}
)

const namespace = "talaria"

// register makes metrics and registers them.
type register struct{ *prometheus.Registry }

func (r register) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	r.MustRegister(c)
	return c
}

func (r register) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	r.MustRegister(h)
	return h
}

func (r register) gauge(name, help string, labels prometheus.Labels) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: labels})
	r.MustRegister(g)
	return g
}
