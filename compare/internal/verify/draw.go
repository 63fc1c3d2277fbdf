package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/compare/strategy"
)

// call is one call to a source that gave keys.
type call struct {
	who  string // "goroutine 3", "process 1"
	nth  int    // of who's calls, from 1
	fill bool   // by Fill, else by Next
	// began and ended are places in the order in which all calls began and ended.
	began, ended int64
	keys         []strategy.Key
}

// key tells who got a key of the call, and how.
func (c call) key(i int) string {
	if !c.fill {
		return fmt.Sprintf("%s by call %d (Next)", c.who, c.nth)
	}
	return fmt.Sprintf("%s by call %d (Fill of %d, its key %d)", c.who, c.nth, len(c.keys), i+1)
}

// make asks a source for the keys of the call: for n by Fill, or for one by Next.
func (c *call) make(ctx context.Context, from strategy.Keys, n int) (err error) {
	if c.fill {
		c.keys, err = from.Fill(ctx, n)
		return err
	}
	key, err := from.Next(ctx)
	c.keys = []strategy.Key{key}
	return err
}

// drawer is somebody who draws keys.
type drawer struct {
	who  string
	keys strategy.Keys
}

// sizes are those of a drawer's calls in turn: one key by Next, more by Fill.
var sizes = []int{1, 3, 1, 1, 7, 1, 31}

// errLate ends the drawing of keys that takes too long.
var errLate = errors.New("the check's time was over")

// draw lets the drawers draw about n keys each, concurrently, and returns their calls in the order in which they began. Where it took too long, cut
// tells. An error of one drawer ends the others; what was drawn is returned with it.
func (r *run) draw(ctx context.Context, drawers []drawer, n int) (calls []call, cut string, err error) {
	bounded, cancel := context.WithTimeoutCause(ctx, r.o.Bound, errLate)
	defer cancel()
	bounded, stop := context.WithCancelCause(bounded)
	defer stop(nil)
	gate := newGate(len(drawers), r.info.RoundTrip)
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	each := make([][]call, len(drawers))
	for i, d := range drawers {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			defer gate.leave()
			var failed error
			if each[i], failed = d.draw(bounded, n, i, &r.turns, gate); failed != nil {
				stop(fmt.Errorf("%s, call %d: %w", d.who, len(each[i])+1, failed))
			}
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	calls = slices.Concat(each...)
	slices.SortFunc(calls, func(a, b call) int { return int(a.began - b.began) })
	// The first cause stays: the time that was over, the end of ctx, or the error of a drawer.
	cause := context.Cause(bounded)
	if deadline, _ := bounded.Deadline(); cause != nil && !time.Now().Before(deadline) {
		cause = errLate // a driver that looks at the deadline itself may be earlier than the context
	}
	switch {
	case ctx.Err() != nil:
		return calls, "", context.Cause(ctx)
	case cause == nil:
		return calls, "", nil
	case errors.Is(cause, errLate) && len(calls) > 0:
		return calls, fmt.Sprintf("ended after %v, with fewer keys than planned", r.o.Bound), nil
	case errors.Is(cause, errLate):
		return nil, "", fmt.Errorf("no key within %v", r.o.Bound)
	default:
		return calls, "", cause
	}
}

// draw draws n keys by calls of several sizes, beginning with another one for each drawer.
func (d drawer) draw(ctx context.Context, n, from int, order *atomic.Int64, gate *gate) (calls []call, err error) {
	single := false
	for i := 0; n > 0; i++ {
		size := sizes[(from+i)%len(sizes)]
		if single || i == 0 {
			size = 1
		}
		c := call{who: d.who, nth: len(calls) + 1, fill: size > 1}
		size = min(size, n)
		gate.pass()
		c.began = order.Add(1)
		err = c.make(ctx, d.keys, size)
		c.ended = order.Add(1)
		switch {
		case c.fill && errors.Is(err, errors.ErrUnsupported):
			single = true
			continue
		case err != nil:
			return calls, err
		case len(c.keys) != size:
			return calls, fmt.Errorf("%w: Fill of %d gave %d", errCount, size, len(c.keys))
		}
		n -= size
		calls = append(calls, c)
	}
	return calls, nil
}

// errCount says that a call gave another number of keys than it was asked for.
var errCount = errors.New("a call gave another number of keys")

// many is how many keys one call is asked for beside those of the sizes: as many as the largest batch that is timed, and as a large INSERT has.
const many = 1000

// large draws keys by one call, after all others. A source that makes single keys only, or whose keys cost a round trip each, gives none.
func (r *run) large(ctx context.Context) ([]call, error) {
	if r.info.RoundTrip {
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.Bound, errLate)
	defer cancel()
	n := min(many, r.limited(1)/2)
	c := call{who: "goroutine 0, after all others,", nth: 1, fill: true, began: r.turns.Add(1)}
	var err error
	c.keys, err = r.keys.Fill(ctx, n)
	c.ended = r.turns.Add(1)
	switch {
	case errors.Is(err, errors.ErrUnsupported), n == 0, err != nil && context.Cause(ctx) == errLate: // slow, which is no fault
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("one Fill of %d: %w", n, err)
	case len(c.keys) != n:
		return nil, fmt.Errorf("%w: Fill of %d gave %d", errCount, n, len(c.keys))
	}
	return []call{c}, nil
}

// count counts the keys of calls.
func count(calls []call) (n int) {
	for _, c := range calls {
		n += len(c.keys)
	}
	return n
}

// show writes a key for people: its text, its number where that is another, and its bytes.
func show(keys strategy.Keys, key strategy.Key) string {
	text := keys.Text(key)
	if n, ok := keys.Number(key); ok {
		if number := fmt.Sprint(n); number != text {
			return fmt.Sprintf("%s (number %s, bytes %x)", text, number, string(key))
		}
	}
	return fmt.Sprintf("%s (bytes %x)", text, string(key))
}
