package idgen

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// queue is where the calls stand that wait for words of a sequencer, in the order they came. A sequencer has one only while calls wait, so that
// calls that do not wait look at one pointer in the sequencer, and that only where they open a tick.
//
// Whoever opens a tick serves the queue out of it in the same swap, and so does every call that joins the queue. A tick that a queue waits
// for is thus never left to those that came later. A call that opens a tick looks for a queue before and after its swap, a call that
// joins looks at the last word after it has joined: one of the two sees the other.
//
// The first in the queue, its head, sleeps until the tick comes, so that waiting takes one thread; the others wait for their channels.
type queue struct {
	mu     sync.Mutex
	calls  list.List // of *waiter; guarded by mu
	wanted int64     // the sum of what they want; guarded by mu
	gone   bool      // the last call has left, another queue may be in its place; guarded by mu
}

// waiter is a call in the queue. Nothing but done and wake may be read by the call before it is done.
type waiter struct {
	place *list.Element // guarded by the queue's mu
	n     int64         // words that it wants

	// What the call is handed: a run of words that were taken under a liveGrant, or an error. Written once, before done.
	held         *liveGrant
	first, count int64
	err          error
	done         atomic.Bool

	wake chan struct{} // of one: it is done, or the head

	// The clock is behind where it was since then, as far as that is not in waited yet; guarded by the queue's mu.
	since  time.Time
	waited time.Duration // for such a clock; guarded by the queue's mu until done
}

// join puts a call at the end of a sequencer's queue.
func (l *sequencer) join(w *waiter) *queue {
	for {
		q := l.queue.Load()
		found := q != nil
		if !found {
			q = new(queue)
		}
		if q.push(w) && (found || l.queue.CompareAndSwap(nil, q)) {
			return q // of a new one that another was faster than, nobody knows
		}
	}
}

// push reports whether the queue was still there for the call to join.
func (q *queue) push(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.gone {
		return false
	}
	w.place = q.calls.PushBack(w)
	q.wanted += w.n
	return true
}

// head reports whether a call is the first in the queue.
func (q *queue) head(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.calls.Front() == w.place
}

// leave takes a call out of the queue, if it is not done; then it is handed nothing any more.
func (q *queue) leave(l *sequencer, w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !w.done.Load() {
		defer q.rouseNew(q.calls.Front())
		q.remove(l, w)
	}
}

// remove takes a call out of the queue, and the queue off the sequencer after the last one. The caller has locked it.
func (q *queue) remove(l *sequencer, w *waiter) {
	q.calls.Remove(w.place)
	q.wanted -= w.n
	if q.calls.Len() == 0 {
		q.gone = true
		l.queue.Store(nil)
	}
}

// rouseNew wakes the head if it was not the head before, lest nobody looks at the clock. The caller has locked the queue.
func (q *queue) rouseNew(before *list.Element) {
	if e := q.calls.Front(); e != nil && e != before {
		e.Value.(*waiter).rouse()
	}
}

func (w *waiter) rouse() {
	select {
	case w.wake <- struct{}{}:
	default: // it has not yet noticed the last time
	}
}

// all yields the calls in the queue. Those that it has yielded may be removed.
func (q *queue) all(yield func(*waiter) bool) {
	for e := q.calls.Front(); e != nil; {
		w := e.Value.(*waiter)
		e = e.Next()
		if !yield(w) {
			return
		}
	}
}

// wait has a call stand in a sequencer's queue until it is handed a run of 1 to n words or an error, or its context ends. A call whose context
// ends after it was handed words returns them, so that none are lost.
func (g *Snowflake) wait(ctx context.Context, l *sequencer, n int64, waited *time.Duration) (held *liveGrant, first, count int64, err error) {
	w := &waiter{n: n, waited: *waited, wake: make(chan struct{}, 1)}
	q := l.join(w)
	err = g.stand(ctx, l, q, w)
	if !w.done.Load() {
		return nil, 0, 0, err
	}
	*waited = w.waited
	return w.held, w.first, w.count, w.err
}

// stand returns when a call is done, or with an error when its context ends. After it the call is not in the queue.
func (g *Snowflake) stand(ctx context.Context, l *sequencer, q *queue, w *waiter) error {
	defer q.leave(l, w) // where an injected clock panics too
	counted := false
	for pause, seen := shortest, int64(-1); ; {
		until, behind := g.serve(l, q)
		if w.done.Load() {
			return nil
		}
		err := errEnded(ctx)
		if err != nil {
			return err
		}
		if !counted {
			g.waits.Add(1)
			counted = true
		}
		switch {
		case behind > 0: // each has waited for the clock for another time, and gives up at another
			err = g.sleep(ctx, w.wake, behind)
		case q.head(w):
			at, _ := g.clock.now()
			if at == seen {
				pause = min(2*pause, recheck) // it stands still
			} else {
				pause, seen = shortest, at
			}
			err = g.sleep(ctx, w.wake, max(time.Duration(until*g.unit.d-at), pause))
		default:
			err = g.block(ctx, w)
		}
		if err != nil || w.done.Load() {
			return err
		}
	}
}

// block waits until a call is done or the head.
func (g *Snowflake) block(ctx context.Context, w *waiter) error {
	started := time.Now()
	defer func() { g.waited.Add(int64(time.Since(started))) }()
	select {
	case <-ctx.Done():
		return errEnded(ctx)
	case <-w.wake:
		return nil
	}
}

func errEnded(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("idgen: waiting for the clock: %w", err)
	}
	return nil
}

// serve hands the calls in the queue what the sequencer has for them now, or the error of having nothing, in their order. Where some stay in the queue
// it returns the tick that they wait for, or where the clock is behind where it was, how long to wait for that.
//
// The clock is read before the queue is locked: an injected clock, or the function that is warned of the layout's end, may call the generator.
func (g *Snowflake) serve(l *sequencer, q *queue) (until int64, behind time.Duration) {
	for {
		held := g.held.Load()
		r := reading{}
		if held.ticks == 0 {
			r.err = g.errGrant(held, 0)
		} else {
			r.tick, r.behind, r.err = g.read()
		}
		until, behind, again := g.hand(l, q, held, r)
		if !again {
			return until, behind
		}
	}
}

// serveAfter serves those that have joined the queue of a sequencer while a call outside of it opened a tick.
func (g *Snowflake) serveAfter(l *sequencer) {
	if q := l.queue.Load(); q != nil {
		g.serve(l, q)
	}
}

// reading is what a reading of the clock has given.
type reading struct {
	tick, behind int64
	err          error
}

// hand does what serve does, once, with a reading of the clock and the liveGrant from before it.
func (g *Snowflake) hand(l *sequencer, q *queue, held *liveGrant, r reading) (until int64, behind time.Duration, again bool) {
	var done []*waiter
	defer func() { // when the queue is no longer locked
		for _, w := range done {
			w.rouse()
		}
	}()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.gone {
		return 0, 0, false
	}
	defer q.rouseNew(q.calls.Front())
	// A call that joined after the liveGrant had changed gets no word of the one before.
	if g.held.Load() != held {
		return 0, 0, true
	}
	end := func(w *waiter, err error) {
		w.err = err
		done = append(done, w)
		q.remove(l, w)
		w.done.Store(true)
	}
	if r.err != nil {
		for w := range q.all {
			end(w, r.err)
		}
		return 0, 0, false
	}
	if g.policy.bound > 0 || r.behind > 0 {
		behind = time.Duration(r.behind)
		longest := time.Duration(0)
		for w := range q.all {
			w.clockBehind(r.behind > 0)
			longest = max(longest, w.waited)
			if err := g.errBack(time.Duration(r.behind), w.waited); err != nil {
				end(w, err)
			} else if r.behind > 0 {
				behind = min(behind, g.policy.bound-w.waited)
			}
		}
		if r.behind > 0 && !g.switches(time.Duration(r.behind), longest) {
			return 0, behind, false
		}
	}
	last := l.last.Load()
	if last == sealedWord && g.held.Load().kind == sealed {
		return 0, 0, true
	}
	first, ready, isNew, err := g.offer(held, last, r.tick, r.behind, min(q.wanted, g.room))
	if err != nil {
		for w := range q.all {
			end(w, err)
		}
		return 0, 0, false
	}
	if ready > r.tick {
		return ready, 0, false
	}
	room := g.room - first&g.seqMask
	served := q.divide(room)
	sum := int64(0)
	for _, w := range served {
		sum += w.count
	}
	if !g.swap(l, last, first, sum, isNew, r.tick) {
		return 0, 0, true
	}
	for _, w := range served {
		w.held, w.first = held, first
		first += w.count
		end(w, nil)
	}
	return 0, 0, !q.gone // under BorrowFull there is more, under RefuseFull an error
}

// divide says how many of the words of a tick's room each call gets, and returns those that get some, which are the first in the queue. Where
// there is not room for all, each gets an equal share, and those in front get what others leave of theirs: a call for many words, which
// takes its turn in many ticks, does not hold up those that want few. The caller has locked the queue.
func (q *queue) divide(room int64) (served []*waiter) {
	share := max(1, room/int64(q.calls.Len()))
	for w := range q.all {
		if room == 0 {
			break
		}
		w.count = min(w.n, share, room)
		room -= w.count
		served = append(served, w)
	}
	for _, w := range served {
		if room == 0 {
			break
		}
		more := min(w.n-w.count, room)
		w.count += more
		room -= more
	}
	return served
}
