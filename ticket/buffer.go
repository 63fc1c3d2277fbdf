package ticket

import (
	"container/list"
	"context"
	"math"
	"sync"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

// Buffer allocates ids in blocks, ahead of need, and gives them out from memory. A call takes from the buffer, and waits only when it
// is empty, or holds less than a Fill wants.
//
// The buffer is refilled in the background, by one allocation at a time, as soon as it does not last for the configuration's Reserve any
// more at the rate that ids are taken at. So ids flow for about that long while no server answers. What is in the buffer when the process
// ends is never given out.
//
// While there are ids in the buffer, it looks each second whether a server, or the store, was set back since, so that others may get the same ids: then
// it throws all away that it holds.
//
// A Buffer is safe for concurrent use. It gives ids out in the order they were allocated in, and calls that wait are served in the order
// they came in. It is to be closed.
type Buffer struct {
	config    BlockConfig
	allocator allocator
	ctx       context.Context // of the refill, which no caller's end ends
	stop      context.CancelFunc
	running   sync.WaitGroup // the goroutines that allocate and watch

	mu sync.Mutex // All that follows is locked by mu.

	next, end int64 // the ids of a unit that is being given out, up to but not including end, which wraps around after the id 1<<63-1
	left      int64 // ids in the buffer: those, and the ones in spans
	gate      int64 // a call that would leave no more than this has to look at the rest of the state: see setGate
	spans     []span

	closed    bool
	refilling bool      // there is a goroutine that allocates
	low       int64     // what a refill starts at
	failures  int       // attempts to allocate in a row that ended with an error
	failed    error     // the last one's
	retry     time.Time // when a refill may start by itself again after a failure

	waiting list.List // of *waiter: calls for ids. While there are any, so is the goroutine that allocates
	warming list.List // of *waiter: calls of Warm
	inTurn  bool      // an allocation has come that was not enough for the first of waiting, which nobody may get ahead of any more

	allocated, discarded, refills, waits int64
	meter                                rateMeter
}

var _ idgen.Source[int64] = (*Buffer)(nil)

// newBuffer returns an empty buffer. The configuration is complete.
func newBuffer(config BlockConfig, allocator allocator) *Buffer {
	s := &Buffer{config: config, allocator: allocator, meter: newRateMeter(config, time.Now())}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.low = s.meter.low()
	s.setGate()
	return s
}

// Next returns one id. It waits when the buffer is empty, for as long as the context lasts, or the configuration's Timeout where that has
// no deadline; with ids in the buffer it does not look at the context.
//
// The error is an [UnavailableError] when the wait has ended, wraps [ErrClosed] after Close, and is otherwise one that waiting does not
// mend, such as [ErrTable] or [ErrExhausted]. The call after such an error asks the servers again.
func (s *Buffer) Next(ctx context.Context) (int64, error) {
	s.mu.Lock()
	if s.left-1 <= s.gate && !s.admit(1) {
		key := make([]int64, 1)
		err := s.await(ctx, &s.waiting, &waiter{keys: key, count: 1})
		return key[0], err
	}
	if s.next == s.end {
		s.turn()
	}
	id := s.next
	s.next++
	s.left--
	s.mu.Unlock()
	return id, nil
}

// Fill sets every element of keys to an id, all or none, in ascending order where one server allocated them. It waits and fails as Next does.
// The ids stay in the buffer until there are enough, so that a Fill that fails wastes none. It may be for more than the buffer ever holds.
func (s *Buffer) Fill(ctx context.Context, keys []int64) error {
	if len(keys) == 0 {
		return nil
	}
	s.mu.Lock()
	if count := int64(len(keys)); s.left-count <= s.gate && !s.admit(count) {
		return s.await(ctx, &s.waiting, &waiter{keys: keys, count: count})
	}
	s.take(keys)
	s.mu.Unlock()
	return nil
}

// Warm returns when the buffer holds what Reserve asks for at the rate that is measured or, at the start, configured, and no less than
// MinStep. It waits and fails as Next does. Without it the first call waits for the first allocation.
func (s *Buffer) Warm(ctx context.Context) error {
	s.mu.Lock()
	if count := s.meter.reserve(); s.closed || s.left < count {
		return s.await(ctx, &s.warming, &waiter{count: count})
	}
	s.mu.Unlock()
	return nil
}

// Close ends the refill and waits for its end. What is left in the buffer is never given out; calls that wait, and later ones, get an error
// that wraps [ErrClosed]. It is safe to call again, and returns nil.
func (s *Buffer) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		s.discard()
		s.dismiss(ErrClosed)
		s.setGate()
		s.stop()
	}
	s.mu.Unlock()
	s.running.Wait()
	s.allocator.close()
	return nil
}

// discard throws away what the buffer holds, and returns how many ids.
func (s *Buffer) discard() int64 {
	discarded := s.left
	s.discarded += discarded
	s.left, s.next, s.end, s.spans = 0, 0, 0, nil
	return discarded
}

// setGate has to be called where closed, refilling, low or inTurn may have changed. It makes one comparison enough for a call that finds
// the buffer as it should be.
func (s *Buffer) setGate() {
	switch {
	case s.closed || s.inTurn:
		s.gate = math.MaxInt64
	case s.refilling:
		s.gate = -1
	default:
		s.gate = s.low
	}
}

// admit reports whether a call may take that many ids now, and makes sure that what it leaves is refilled.
func (s *Buffer) admit(count int64) bool {
	if s.closed || s.inTurn {
		return false
	}
	if !s.refilling && s.left-count <= s.low && (s.failures == 0 || !time.Now().Before(s.retry)) {
		s.start()
	}
	return s.left >= count
}

// turn goes on to the next unit. There has to be one.
func (s *Buffer) turn() {
	first := &s.spans[0]
	s.next, s.end = first.first, first.first+first.unit
	first.first += first.jump // may wrap around after the last unit, which is not used then
	if first.units--; first.units == 0 {
		s.spans = s.spans[1:]
	}
}

// take sets every element to an id of the buffer, which has to hold as many.
func (s *Buffer) take(keys []int64) {
	s.left -= int64(len(keys))
	for len(keys) > 0 {
		if s.next == s.end {
			s.turn()
		}
		run := keys[:min(int64(len(keys)), s.end-s.next)]
		for i := range run {
			run[i] = s.next
			s.next++
		}
		keys = keys[len(run):]
	}
}

// BlockStats says how a [Buffer] is doing. Allocated is always the sum of Buffered, Issued and Discarded.
type BlockStats struct {
	Buffered  int64         // ids in the buffer
	Lasts     time.Duration // how long they last at Rate; the greatest Duration where that is 0 or it is longer
	Rate      float64       // ids a second that are taken: averaged over about the configuration's Reserve, as of the last allocation
	Step      int64         // ids that are allocated at once, unless calls wait for more
	Low       int64         // ids in the buffer at which a refill starts
	Allocated int64         // ids allocated
	Issued    int64         // ids given out
	Discarded int64         // ids allocated and never to be given out: by Close, or since others may get them too
	Waits     int64         // calls of Next and Fill that waited
	Refills   int64         // allocations that succeeded
	Refilling bool          // there is an allocation under way
	Latency   Latency       // of allocations: of the attempts that succeeded
	Failures  int           // allocations in a row that failed
	Err       error         // of the last allocation; nil where it succeeded
	Servers   []ServerStats // none of a [StoreSource]
}

// Stats returns how the buffer is doing. It may be called at any time.
func (s *Buffer) Stats() BlockStats {
	stats := s.blockStats()
	stats.Servers = s.allocator.stats()
	return stats
}

func (s *Buffer) blockStats() BlockStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := BlockStats{
		Buffered: s.left, Lasts: math.MaxInt64, Rate: s.meter.rate, Step: s.meter.step, Low: s.low,
		Allocated: s.allocated, Issued: s.issued(), Discarded: s.discarded, Waits: s.waits,
		Refills: s.refills, Refilling: s.refilling, Latency: s.meter.latencies.summary(),
		Failures: s.failures, Err: s.failed,
	}
	if lasts := float64(s.left) / s.meter.rate * float64(time.Second); lasts < math.MaxInt64 { // NaN, 0/0, is not
		stats.Lasts = time.Duration(lasts)
	}
	return stats
}

// issued returns how many ids were given out.
func (s *Buffer) issued() int64 { return s.allocated - s.discarded - s.left }
