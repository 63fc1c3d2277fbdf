//go:build unix

package gormsuite

import (
	"os/exec"
	"syscall"
)

// killGroup gives a command a process group of its own, which is killed when the command's context ends: go test runs the tests in a
// process of theirs. An interrupt from the terminal does not reach the group.
func killGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
}
