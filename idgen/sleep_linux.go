package idgen

import (
	"syscall"
	"time"
)

// sleepPrecisely sleeps in the kernel, which is late by less than a tenth of a millisecond. It may return early. It is false, without a sleep, where this
// program's clock is not the kernel's: in a bubble of testing/synctest, where only a timer moves the clock on.
func sleepPrecisely(d time.Duration) bool {
	var now syscall.Timeval
	if err := syscall.Gettimeofday(&now); err != nil || time.Until(time.Unix(now.Unix())).Abs() > time.Second {
		return false
	}
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil) // an interrupted sleep is a short one
	return true
}
