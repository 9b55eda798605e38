package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/platforms"
)

// lookFor is how long a look at the gateway may take.
const lookFor = 5 * time.Second

var (
	pending   = gaugeOf("inbox_pending", "Accepted updates without an outcome: those that wait, and those that a turn works on.", "state")
	running   = gaugeOf("turns_running", "Turns that hold a worker's slot or wait for a person.")
	awake     = gaugeOf("conversations_awake", "Conversations that take memory.")
	waiting   = gaugeOf("outbox_waiting", "Messages that are on their way.")
	oldest    = gaugeOf("outbox_oldest_seconds", "Age of the oldest message that is on its way, 0 if none is.")
	bytes     = gaugeOf("database_bytes", "Size of the database.")
	connected = gaugeOf("platform_connected", "1 while the platform shows signs of life.", "platform")
	alive     = gaugeOf("platform_alive_timestamp_seconds", "When the platform showed its last sign of life.", "platform")
	freezes   = prometheus.NewDesc(namespace+"_rate_limit_freezes_total", "How often a platform told us to wait.", []string{"platform"}, nil)
	held      = gaugeOf("rate_limit_waiting", "Calls that wait for a platform's rate limit.", "platform")
)

func gaugeOf(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
}

// snapshot is a collector that looks when it is asked. What cannot be seen then is left out.
type snapshot struct {
	gateway  Watched
	adapters []platforms.Adapter
	size     func() (int64, error)
}

// Describe implements prometheus.Collector.
func (s *snapshot) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{pending, running, awake, waiting, oldest, bytes, connected, alive, freezes, held} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *snapshot) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookFor)
	defer cancel()
	if g, err := s.gateway.Gauges(ctx); err == nil {
		gauge(pending, float64(g.Waiting), "waiting")
		gauge(pending, float64(g.Claimed), "in a turn")
		gauge(running, float64(g.Running))
		gauge(awake, float64(g.Awake))
		gauge(waiting, float64(g.Undelivered))
		gauge(oldest, g.Oldest.Seconds())
	}
	if n, err := s.size(); err == nil {
		gauge(bytes, float64(n))
	}
	for _, a := range s.adapters {
		name := string(a.Name())
		up := 0.0
		if gateway.LifeOf(a) == gateway.Alive {
			up = 1
		}
		gauge(connected, up, name)
		if p, ok := a.(platforms.Prober); ok && !p.LastAlive().IsZero() {
			gauge(alive, float64(p.LastAlive().UnixMilli())/1000, name)
		}
		if p, ok := a.(platforms.Paced); ok {
			pace := p.Pace()
			gauge(held, float64(pace.Waiting), name)
			ch <- prometheus.MustNewConstMetric(freezes, prometheus.CounterValue, float64(pace.Freezes), name)
		}
	}
}
