//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package grant

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock of a file for this opening of it alone, and returns false when another has it. It ends with the file.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}
