// Package bench measures what Talaria costs, as ratios of two things measured in one run: what it does, and what the
// least program would have to do. It has no thresholds; its documented goals stand beside the figures.
//
//	go test -bench . -benchtime 1x ./bench
package bench

import (
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// pairs measures two things in turn, so that a busy machine disturbs both alike, and reports the ratios of their medians:
// x of the time that passed, cpu-x of the processor's time, the server's side included, which other programs do not
// change.
func pairs(b *testing.B, n int, ours, bare func()) {
	b.Helper()
	ours()
	bare()
	var a, c measured
	for b.Loop() {
		for range n {
			a.measure(ours)
			c.measure(bare)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(a.wall))/float64(median(c.wall)), "x")
	b.ReportMetric(float64(median(a.cpu))/float64(median(c.cpu)), "cpu-x")
	b.ReportMetric(float64(median(a.wall).Microseconds()), "us-ours")
	b.ReportMetric(float64(median(c.wall).Microseconds()), "us-bare")
}

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

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}
