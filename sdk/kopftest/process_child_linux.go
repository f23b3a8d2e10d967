package kopftest

import (
	"os/exec"
	"syscall"
)

// dieWithTests makes the kernel kill the process when the test binary ends for any reason. Otherwise a frozen process would
// never end.
func dieWithTests(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
