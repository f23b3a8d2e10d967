//go:build unix && !linux

package kopftest

import (
	"os/exec"
	"syscall"
)

// dieWithTests puts the process into a process group. When the test binary ends for any reason, the kernel sends SIGHUP and
// SIGCONT to the stopped processes of the group.
func dieWithTests(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
