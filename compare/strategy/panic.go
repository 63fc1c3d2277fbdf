package strategy

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// errPanic says that a source panicked.
var errPanic = errors.New("compare: the source panicked")

// caught is deferred around calls of a source, which may be an application's own and on trial: its panic is the call's error, so that the run
// goes on with the other strategies, keeps what it has measured, and drops its tables.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v%s", errPanic, p, panicked())
	}
}

// panicked returns where the panic began that is being recovered from, such as " (mine.go:40)".
func panicked() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)]) // what caught was called by, which is the runtime
	for {
		frame, more := frames.Next()
		if frame.File != "" && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf(" (%s:%d)", filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return ""
		}
	}
}
