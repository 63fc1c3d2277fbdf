//go:build !linux

package dbserver

import (
	"os/exec"
	"runtime"
	"syscall"
)

const sigstop, sigcont = syscall.Signal(0), syscall.Signal(0) // never sent

// guardSupported returns an error: a guard needs the Linux kernel to adopt what a
// server leaves behind.
func guardSupported(kind string) error {
	return &UnavailableError{Kind: kind, Missing: "private servers need Linux, and this is " + runtime.GOOS}
}

// guardCommand is never called where guards are not supported.
func guardCommand() *exec.Cmd { return &exec.Cmd{} }

// Guard returns at once: there are no guards here.
func Guard() {}
