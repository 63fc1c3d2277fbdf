package ticket

import (
	"container/list"
	"context"
	"time"
)

// waiter is a call that waits: for ids, or of Warm until there are as many in the buffer.
type waiter struct {
	keys  []int64 // what to set; none of Warm
	count int64
	done  chan struct{} // closed when the call has its ids, or its error
	err   error         // to be read when done is closed
}

// await unlocks the buffer, and waits in a line until the waiter is done or the context ends. It has a refill started if there is none,
// even shortly after one that failed.
//
// Ids stay in the buffer while a Fill waits for more, and calls for which there are enough get ahead of it: when no server answers, a large
// Fill in vain must not keep others from the last ids. From the first allocation on that was not enough nobody does, lest it waits for ever.
func (s *Buffer) await(ctx context.Context, line *list.List, w *waiter) error {
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		s.mu.Unlock()
		return s.allocator.unavailable(err)
	}
	w.done = make(chan struct{})
	if line == &s.waiting {
		s.waits++
		if line.Len() == 0 {
			s.meter.block(time.Now())
		}
	}
	place := line.PushBack(w)
	if !s.refilling {
		s.start()
	}
	s.mu.Unlock()

	ctx, cancel := s.config.bound(ctx, s.config.Timeout)
	defer cancel()
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
	}
	if s.withdraw(line, place) {
		return s.allocator.unavailable(ctx.Err())
	}
	return w.err
}

// withdraw takes a waiter out of its line, and serves those who may have been behind it. It is false where the waiter was done.
func (s *Buffer) withdraw(line *list.List, place *list.Element) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-place.Value.(*waiter).done:
		return false
	default:
	}
	first := line == &s.waiting && line.Front() == place
	line.Remove(place)
	if first {
		s.inTurn = false
		s.serve()
		s.setGate()
	}
	return true
}

// serve gives the waiters what there is, as far as there is enough. If inTurn, the first one for whom there is not keeps the others waiting.
func (s *Buffer) serve() {
	for place := s.warming.Front(); place != nil; {
		w, at := place.Value.(*waiter), place
		place = place.Next()
		if w.count <= s.left {
			s.warming.Remove(at)
			close(w.done)
		}
	}
	for place := s.waiting.Front(); place != nil && s.left > 0; {
		w, at := place.Value.(*waiter), place
		place = place.Next()
		if w.count <= s.left {
			s.take(w.keys)
			s.waiting.Remove(at)
			close(w.done)
		} else if s.inTurn {
			break
		}
	}
	if s.waiting.Len() == 0 {
		s.inTurn = false
		s.meter.unblock(time.Now())
	}
}

// dismiss ends all waits with an error.
func (s *Buffer) dismiss(err error) {
	for _, line := range []*list.List{&s.warming, &s.waiting} {
		for place := line.Front(); place != nil; place = place.Next() {
			w := place.Value.(*waiter)
			w.err = err
			close(w.done)
		}
		line.Init()
	}
	s.inTurn = false
	s.meter.unblock(time.Now())
}

// missing returns how many more ids the waiters need.
func (s *Buffer) missing() int64 {
	var most, sum int64
	for place := s.warming.Front(); place != nil; place = place.Next() {
		most = max(most, place.Value.(*waiter).count)
	}
	for place := s.waiting.Front(); place != nil; place = place.Next() {
		sum += place.Value.(*waiter).count
	}
	return max(most, sum) - s.left
}
