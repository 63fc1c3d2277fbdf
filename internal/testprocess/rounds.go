package testprocess

import (
	"iter"
	"os"
	"time"
)

// Rounds yields n rounds, or with SNOWKEY_TORTURE=10m rounds for as long as that.
func Rounds(n int) iter.Seq[int] {
	torture, _ := time.ParseDuration(os.Getenv("SNOWKEY_TORTURE"))
	return func(yield func(int) bool) {
		begin := time.Now()
		for i := 0; i < n && torture == 0 || time.Since(begin) < torture; i++ {
			if !yield(i) {
				return
			}
		}
	}
}
