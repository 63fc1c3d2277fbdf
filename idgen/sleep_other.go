//go:build !linux

package idgen

import "time"

// sleepPrecisely sleeps on Linux only.
func sleepPrecisely(time.Duration) bool { return false }
