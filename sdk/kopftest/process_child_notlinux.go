//go:build unix && !linux

package kopftest

import (
	"os/exec"
	"syscall"
)

// dieWithTests puts the process into a process group. When the test binary ends in whatever way, the kernel hangs up and continues
// the stopped processes of a group whose parent has ended.
func dieWithTests(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
