package ticket

import (
	"slices"
	"time"
)

// Latency says how long the most recent of something took, up to 64 of them. It is zero before the first.
type Latency struct {
	Last, P50, P99, Max time.Duration
}

// latencies are the most recent ones.
type latencies struct {
	recent [64]time.Duration
	count  int // of all times
}

func (l *latencies) add(took time.Duration) {
	l.recent[l.count%len(l.recent)] = took
	l.count++
}

func (l *latencies) longest() time.Duration { return slices.Max(l.recent[:]) }

func (l *latencies) summary() Latency {
	if l.count == 0 {
		return Latency{}
	}
	sorted := l.recent // a copy
	recent := sorted[:min(l.count, len(sorted))]
	last := recent[(l.count-1)%len(l.recent)]
	slices.Sort(recent)
	// The least one that so many percent are not above.
	rank := func(percent int) time.Duration { return recent[(len(recent)*percent+99)/100-1] }
	return Latency{Last: last, P50: rank(50), P99: rank(99), Max: recent[len(recent)-1]}
}
