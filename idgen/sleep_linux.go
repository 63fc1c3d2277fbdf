package idgen

import (
	"syscall"
	"time"
)

// sleepPrecisely sleeps in the kernel, which is late by less than a tenth of a millisecond. It may return early.
func sleepPrecisely(d time.Duration) bool {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil) // an interrupted sleep is a short one
	return true
}
