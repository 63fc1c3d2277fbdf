package ticket

import (
	"math/rand/v2"
	"time"
)

// start starts the goroutine that buys. There has to be none, and the stock not to be closed: so there is never a second one, and Close,
// which has set closed before it waits, awaits every one.
func (s *Stock) start() {
	s.refilling = true
	s.setGate()
	s.refill.Go(func() {
		s.mu.Lock()
		count := s.wanted()
		s.mu.Unlock()
		for count > 0 {
			bought, err := s.seller.buy(s.ctx, count)
			count = s.settle(bought, err)
		}
	})
}

// wanted returns how many ids the goroutine that buys is to buy next. Where that is none, it has to end without another look at the stock:
// there may be the next one from here on.
func (s *Stock) wanted() int64 {
	missing := s.missing()
	if s.closed || s.left > s.low && missing <= 0 {
		s.refilling = false
		s.setGate()
		return 0
	}
	return min(max(missing, s.pace.step), s.config.MaxStep)
}

// settle puts what was bought in stock, or lets the calls that wait know why nothing was, and returns how many ids to buy next.
func (s *Stock) settle(bought sale, err error) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.fail(err, time.Now())
		return 0
	case s.closed:
		s.sold += bought.count()
		s.burnt += bought.count()
		s.refills++
	default:
		s.sold += bought.count()
		s.left += bought.count()
		s.refills++
		s.spans = append(s.spans, bought.span)
		s.inTurn = true
		s.serve()
		s.pace.bought(time.Now(), s.issued(), bought.took, bought.troubled || s.failures > 0)
		s.low = s.pace.low()
		s.failures, s.failed = 0, nil
		s.setGate()
	}
	return s.wanted()
}

// fail notes that a purchase has failed. The next one is not sooner than the backoff says, unless a call waits for it, and up to a fifth
// later, lest processes come all at once.
func (s *Stock) fail(err error, now time.Time) {
	s.refilling = false
	if !s.closed { // its end is why the purchase failed, very likely
		backoff := min(s.config.Backoff<<min(s.failures, 16), s.config.MaxBackoff) // an hour at most is far from overflowing
		s.retry = now.Add(backoff + rand.N(backoff/5+1))
		s.failures++
		s.failed = err
		s.dismiss(err)
	}
	s.setGate()
}
