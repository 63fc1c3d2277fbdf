package shard_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowkey-go/snowkey/gormplugin/shard"
)

var errOther = errors.New("another error")

// TestRetry calls until the error is another one.
func TestRetry(t *testing.T) {
	for name, c := range map[string]struct {
		moved int
		then  error
	}{
		"at once": {0, nil}, "after one": {1, nil}, "after ten": {10, nil}, "another error": {2, errOther},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			err := shard.Retry(t.Context(), func() error {
				if calls++; calls <= c.moved {
					return fmt.Errorf("saving: %w", shard.ErrMoved)
				}
				return c.then
			})
			if !errors.Is(err, c.then) || calls != c.moved+1 {
				t.Errorf("%s: got %d calls, %v, want %d, %v", name, calls, err, c.moved+1, c.then)
			}
		})
	}
}

// TestRetryEnds gives up after half a minute, and with the context.
func TestRetryEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, calls := time.Now(), 0
		err := shard.Retry(t.Context(), func() error { calls++; return shard.ErrMoved })
		if took := time.Since(start); !errors.Is(err, shard.ErrMoved) || took > 30*time.Second || took < 28*time.Second || calls > 80 {
			t.Errorf("got %v after %d calls and %s, want ErrMoved after about 30s and less than 80 calls", err, calls, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		err := shard.Retry(ctx, func() error { return shard.ErrMoved })
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, shard.ErrMoved) || took != 3*time.Second {
			t.Errorf("got %v after %s, want both errors after 3s", err, took)
		}
	})
}
