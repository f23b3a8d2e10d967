package runner

import (
	"os"
	"syscall"
)

// InterruptError reports that a signal interrupted a command.
type InterruptError struct{ Signal os.Signal }

func (e *InterruptError) Error() string {
	switch e.Signal {
	case syscall.SIGTERM:
		return "terminated"
	case syscall.SIGHUP:
		return "the terminal was closed"
	}
	return "interrupted"
}

// signalExitBase is the number that shells add to the number of the signal that killed a process.
const signalExitBase = 128

// ExitCode returns the exit code of a process that the signal ended: 128 plus its number.
func (e *InterruptError) ExitCode() int {
	if s, ok := e.Signal.(syscall.Signal); ok {
		return signalExitBase + int(s)
	}
	return 1
}
