package kopftest

import (
	"os/exec"
	"syscall"
)

// dieWithTests makes the kernel kill the process when the test binary ends in whatever way: a frozen process would stay for ever.
func dieWithTests(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
