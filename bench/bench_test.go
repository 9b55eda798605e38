// Package bench measures what Talaria costs, as ratios of two things measured in one run: what it does, and what the
// least program would have to do. It has no thresholds; its documented goals stand beside the figures.
//
//	go test -bench . -benchtime 1x ./bench
package bench

import (
	"slices"
	"testing"
	"time"
)

// pairs measures two things in turn, so that a busy machine disturbs both alike, and reports the ratio of their medians.
func pairs(b *testing.B, n int, ours, bare func()) {
	b.Helper()
	ours()
	bare()
	var a, c []time.Duration
	for b.Loop() {
		for range n {
			a = append(a, timed(ours))
			c = append(c, timed(bare))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(a))/float64(median(c)), "x")
	b.ReportMetric(float64(median(a).Microseconds()), "us-ours")
	b.ReportMetric(float64(median(c).Microseconds()), "us-bare")
}

func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}
