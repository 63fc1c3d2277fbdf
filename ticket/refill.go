package ticket

import (
	"math/rand/v2"
	"time"
)

// start starts the goroutine that allocates. There has to be none, and the buffer not to be closed: so there is never a second one, and Close,
// which has set closed before it waits, awaits every one.
func (s *Buffer) start() {
	s.refilling = true
	s.setGate()
	s.running.Go(func() {
		s.mu.Lock()
		count := s.wanted()
		s.mu.Unlock()
		for count > 0 {
			allocated, err := s.allocator.allocate(s.ctx, count)
			count = s.settle(allocated, err)
		}
	})
}

// wanted returns how many ids the goroutine that allocates is to allocate next. Where that is none, it has to end without another look at the buffer:
// there may be the next one from here on.
func (s *Buffer) wanted() int64 {
	missing := s.missing()
	if s.closed || s.left > s.low && missing <= 0 {
		s.refilling = false
		s.setGate()
		return 0
	}
	return min(max(missing, s.meter.step), s.config.MaxStep)
}

// settle puts what was allocated in the buffer, or lets the calls that wait know why nothing was, and returns how many ids to allocate next.
func (s *Buffer) settle(allocated allocation, err error) int64 {
	s.mu.Lock()
	if err != nil {
		discarded := s.fail(err, time.Now())
		s.mu.Unlock()
		s.tell(discarded, err)
		return 0
	}
	defer s.mu.Unlock()
	if s.refills == 0 && !s.closed {
		s.running.Go(s.watch)
	}
	s.allocated += allocated.count()
	s.refills++
	if s.closed {
		s.discarded += allocated.count()
	} else {
		s.left += allocated.count()
		s.spans = append(s.spans, allocated.span)
		s.inTurn = true
		s.serve()
		s.meter.allocated(time.Now(), s.issued(), allocated.took, allocated.troubled || s.failures > 0)
		s.low = s.meter.low()
		s.failures, s.failed = 0, nil
		s.setGate()
	}
	return s.wanted()
}

// fail notes that an allocation has failed. The next one is not sooner than the backoff says, unless a call waits for it, and up to a fifth
// later, lest processes come all at once. It returns how many ids were thrown away for it.
func (s *Buffer) fail(err error, now time.Time) (discarded int64) {
	s.refilling = false
	if !s.closed { // its end is why the allocation failed, very likely
		backoff := min(s.config.Backoff<<min(s.failures, 16), s.config.MaxBackoff) // an hour at most is far from overflowing
		s.retry = now.Add(backoff + rand.N(backoff/5+1))
		s.failures++
		s.failed = err
		if setBack(err) {
			discarded = s.discard()
		}
		s.dismiss(err)
	}
	s.setGate()
	return discarded
}
