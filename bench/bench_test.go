// Package bench measures what Talaria costs, as ratios of two things measured in one run: what it does, and what the
// least program would have to do. It has no thresholds; its documented goals stand beside the figures.
//
//	go test -run XXX -bench . -benchtime 1x ./bench
//
// docs/testing.md has a table of them, with what they have shown.
package bench

import (
	"cmp"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// pairs measures two things in turn, n times each, so that a busy machine disturbs both alike, and reports the ratios of
// their medians: x of the time that passed, cpu-x of the processor's time, the server's side included, which other
// programs do not change. low-x and high-x are the quartiles of the ratios of the single pairs: how far x can be trusted.
func pairs(b *testing.B, n int, ours, bare func()) {
	b.Helper()
	prepared(b, n, func() func() { return ours }, func() func() { return bare })
}

// prepared is pairs for what needs preparation that is not measured: ours and bare prepare, and return the work.
func prepared(b *testing.B, n int, ours, bare func() (work func())) {
	b.Helper()
	ours()()
	bare()()
	var a, c measured
	for b.Loop() {
		for range n {
			a.measure(ours())
			c.measure(bare())
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ratio(median(a.wall), median(c.wall)), "x")
	b.ReportMetric(ratio(median(a.cpu), median(c.cpu)), "cpu-x")
	var each []float64
	for i := range a.wall {
		each = append(each, ratio(a.wall[i], c.wall[i]))
	}
	b.ReportMetric(quantile(each, 0.25), "low-x")
	b.ReportMetric(quantile(each, 0.75), "high-x")
	b.ReportMetric(float64(median(a.wall).Microseconds()), "us-ours")
	b.ReportMetric(float64(median(c.wall).Microseconds()), "us-bare")
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// measured is how long something took, each time that it was done.
type measured struct{ wall, cpu []time.Duration }

func (m *measured) measure(f func()) {
	runtime.GC() // nobody pays for what the other one left behind
	began, used := time.Now(), cpuTime()
	f()
	m.wall = append(m.wall, time.Since(began))
	m.cpu = append(m.cpu, cpuTime()-used)
}

// cpuTime is the processor's time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median(d []time.Duration) time.Duration { return quantile(d, 0.5) }

// quantile returns the value below which a share of all lies.
func quantile[T cmp.Ordered](all []T, share float64) T {
	all = slices.Sorted(slices.Values(all))
	return all[min(int(share*float64(len(all))), len(all)-1)]
}
