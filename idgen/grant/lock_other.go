//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package grant

import (
	"errors"
	"os"
)

func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }
