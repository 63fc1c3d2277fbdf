package ticket

import (
	"testing"
	"time"
)

func TestLatency(t *testing.T) {
	var l latencies
	if got := l.summary(); got != (Latency{}) {
		t.Errorf("of none: %+v", got)
	}
	for i := range 300 {
		l.add(time.Duration(1000-i) * time.Second) // the recent ones are the least
		n := min(i+1, 64)
		last := time.Duration(1000-i) * time.Second
		above := func(rank int) time.Duration { return last + time.Duration(rank-1)*time.Second }
		want := Latency{Last: last, P50: above((n + 1) / 2), P99: above((99*n + 99) / 100), Max: above(n)}
		if got := l.summary(); got != want || l.longest() != want.Max {
			t.Fatalf("of %d: got %+v, longest %s, want %+v", i+1, got, l.longest(), want)
		}
	}
}
