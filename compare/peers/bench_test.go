//go:build unix

package peers_test

import (
	"sync"
	"syscall"
	"testing"
	"time"
)

// sink keeps the last key of each loop, so that no call can be optimised away.
var (
	sink  any
	sinks sync.Mutex // of sink
)

func keep(key any) {
	sinks.Lock()
	defer sinks.Unlock()
	sink = key
}

// BenchmarkNext takes one key at a time, on one goroutine and on as many as there are cores.
func BenchmarkNext(b *testing.B) {
	for _, g := range groups {
		for _, r := range g.rows {
			b.Run("bound="+g.bound+"/goroutines=1/maker="+r.name(), r.next)
		}
		for _, r := range g.rows {
			b.Run("bound="+g.bound+"/goroutines=all/maker="+r.name(), r.nextOnAll)
		}
	}
}

// BenchmarkBatch takes 1,000 keys at a time into one slice, by the maker's call for that or else in a loop.
func BenchmarkBatch(b *testing.B) {
	for _, g := range groups {
		for _, r := range g.rows {
			b.Run("bound="+g.bound+"/keys=1000/maker="+r.name(), r.batch)
		}
	}
}

func (m maker[K]) next(b *testing.B) {
	b.ReportAllocs()
	c := m.open(b)
	defer cores(b)()
	var last K
	for b.Loop() {
		key, err := c.next()
		if err != nil {
			b.Fatal(err)
		}
		last = key
	}
	keep(last)
}

func (m maker[K]) nextOnAll(b *testing.B) {
	b.ReportAllocs()
	c := m.open(b)
	defer cores(b)()
	b.RunParallel(func(pb *testing.PB) {
		var last K
		for pb.Next() {
			key, err := c.next()
			if err != nil {
				b.Error(err)
			}
			last = key
		}
		keep(last)
	})
}

func (m maker[K]) batch(b *testing.B) {
	b.ReportAllocs()
	take, keys := m.open(b).loop(), make([]K, 1000)
	defer cores(b)()
	for b.Loop() {
		if err := take(keys); err != nil {
			b.Fatal(err)
		}
	}
	keep(keys[len(keys)-1])
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(keys)), "ns/key")
}

// cores reports how many cores were busy between the call and that of the function it returns. A bounded maker can wait for the next
// tick asleep or in a busy loop: the time that a key takes is the same, and this is not.
func cores(b *testing.B) (report func()) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start, before := time.Now(), used()
	return func() { b.ReportMetric((used()-before).Seconds()/time.Since(start).Seconds(), "cores") }
}
