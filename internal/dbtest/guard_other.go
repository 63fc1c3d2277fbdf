//go:build !linux

package dbtest

import "os/exec"

// guardSupported returns an error: a guard needs the Linux kernel to adopt what a
// server leaves behind.
func guardSupported(e engine) error {
	return &unavailableError{"private servers need Linux; set " + e.variable() + " to a server's DSN"}
}

// guardCommand is never called where guards are not supported.
func guardCommand() *exec.Cmd { return &exec.Cmd{} }
