//go:build unix

package kopftest

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

const (
	canFreeze      = true
	stopSignal     = syscall.SIGSTOP
	continueSignal = syscall.SIGCONT
)

// awaitExit waits for the end of a process, and calls a function whenever all its threads have stopped. [exec.Cmd.Wait] only
// waits for the end.
func awaitExit(cmd *exec.Cmd, stopped func()) error {
	defer func() { _ = cmd.Process.Release() }()
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return fmt.Errorf("wait for the process %d: %w", cmd.Process.Pid, err)
		case status.Stopped():
			stopped()
		case status.Signaled():
			return fmt.Errorf("the process has ended by a signal: %s", status.Signal())
		case status.ExitStatus() != 0:
			return fmt.Errorf("the process has ended with exit code %d", status.ExitStatus())
		default:
			return nil
		}
	}
}

func closeOnExec(descriptor int) { syscall.CloseOnExec(descriptor) }
