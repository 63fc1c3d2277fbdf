package measure

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/snowkey-go/snowkey/compare/strategy"
)

const (
	// callLimit bounds a call of a strategy. It is far above what a key takes, and below the patience of applications.
	callLimit = 5 * time.Second
	// retryPause is how long a goroutine waits after a call that failed.
	retryPause = 5 * time.Millisecond
	// drawPause is the least time from a key to the goroutine's next, so that keys made in memory do not fill it.
	drawPause = 50 * time.Microsecond
)

// drawer draws single keys, on one goroutine.
type drawer struct {
	keys   strategy.Keys
	table  strategy.Table // where the database makes the keys
	orders *strategy.Orders
	scope  int // in which keys are different: a table's number, 0 where all have one source

	got []drawn // read by others when drawing is over only

	drawing bool // its goroutine runs; used by those who begin and end that, alone

	latest atomic.Int64          // when the last key was received
	failed atomic.Pointer[error] // of the last call that failed
}

// drawn is a key that was received, and when, counted from when drawing began.
type drawn struct {
	key strategy.Key
	at  time.Duration
}

// draw draws until the channel is closed or the context ends.
func (d *drawer) draw(ctx context.Context, began time.Time, enough <-chan struct{}) {
	for {
		select {
		case <-enough:
			return
		case <-ctx.Done():
			return
		default:
		}
		before := time.Now()
		key, err := d.next(ctx)
		pause := drawPause - time.Since(before)
		if err != nil {
			d.failed.Store(&err)
			pause = retryPause
		} else {
			at := time.Since(began)
			d.got = append(d.got, drawn{key, at})
			d.latest.Store(int64(at))
		}
		if pause > 0 {
			time.Sleep(pause)
		}
	}
}

// next draws one key.
func (d *drawer) next(ctx context.Context) (strategy.Key, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if d.table == nil {
		return d.keys.Next(ctx)
	}
	keys, err := d.table.Insert(ctx, d.orders.Make(1))
	if err != nil {
		return "", err
	}
	if len(keys) != 1 {
		return "", errors.New("an INSERT of one row did not return one key")
	}
	return keys[0], nil
}

// failure is the error of the last call that failed.
func (d *drawer) failure() error {
	if err := d.failed.Load(); err != nil {
		return *err
	}
	return errors.New("a call does not return")
}
