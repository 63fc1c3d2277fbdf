package ticket

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A buffer throws its stock away when what it came from was set back, not sooner, and looks only while it has some.
func TestWatch(t *testing.T) {
	for name, why := range map[string]error{"set back": ErrRegression, "emptied": ErrForgotten} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shop := &shop{}
				buffer := newTestStock(t, shop, BlockConfig{})
				time.Sleep(time.Minute)
				if shop.looks != 0 {
					t.Errorf("%d looks before the first allocation", shop.looks)
				}
				mustWarm(t, buffer)
				mustNext(t, buffer)
				time.Sleep(time.Minute)
				synctest.Wait()
				if stats := balance(t, buffer, shop); shop.looks < 59 || shop.looks > 60 || stats.Buffered == 0 || stats.Discarded != 0 {
					t.Errorf("after a minute: %d looks, %+v", shop.looks, stats)
				}
				shop.mu.Lock()
				shop.back = fmt.Errorf("a shop: %w", why)
				shop.mu.Unlock()
				shop.refuse(shop.back)
				time.Sleep(lookEvery)
				synctest.Wait()
				looks := shop.looks
				if stats := balance(t, buffer, shop); stats.Buffered != 0 || stats.Discarded != shop.allocated-1 {
					t.Errorf("set back: %+v", stats)
				}
				if id, err := buffer.Next(t.Context()); !errors.Is(err, why) {
					t.Errorf("got %d and the error %v, want %v", id, err, why)
				}
				time.Sleep(time.Minute)
				if shop.looks != looks {
					t.Errorf("%d looks without a stock", shop.looks-looks)
				}
			})
		})
	}
}

// An allocation that finds out is enough.
func TestSetBackByAllocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := &shop{}
		buffer := newTestStock(t, shop, BlockConfig{})
		mustWarm(t, buffer)
		shop.refuse(ErrRegression)
		for buffer.Stats().Failures == 0 {
			mustNext(t, buffer)
			synctest.Wait()
		}
		if stats := balance(t, buffer, shop); stats.Buffered != 0 || stats.Discarded == 0 || shop.looks != 0 {
			t.Errorf("got %+v, and %d looks", stats, shop.looks)
		}
	})
}

// An error makes what a server gave doubtful once, and not again when the server was in use since.
func TestUntrusted(t *testing.T) {
	s := &server{err: &ServerError{Class: Permanent, Err: ErrForgotten}}
	for _, step := range []struct {
		state State
		want  error
	}{{Closed, nil}, {HalfOpen, nil}, {Open, ErrForgotten}, {Open, nil}, {HalfOpen, nil}, {Open, nil}, {Closed, nil}, {HalfOpen, nil}, {Quarantined, ErrForgotten}, {Quarantined, nil}} {
		s.become(step.state)
		if err := s.untrusted(nil); !errors.Is(err, step.want) {
			t.Errorf("%v: got %v, want %v", step.state, err, step.want)
		}
	}
}
