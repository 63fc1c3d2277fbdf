package dialect

import (
	"context"
	"fmt"
	"time"
)

// Sleep returns after a time, or when the context ends, with an error that wraps the context's and its cause.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		if cause := context.Cause(ctx); cause != ctx.Err() {
			return fmt.Errorf("%w: %w", ctx.Err(), cause)
		}
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
