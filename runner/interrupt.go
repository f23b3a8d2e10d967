package runner

import (
	"os"
	"syscall"
)

// InterruptError tells that a signal has ended the work.
type InterruptError struct{ Signal os.Signal }

func (e *InterruptError) Error() string {
	switch e.Signal {
	case syscall.SIGTERM:
		return "terminated"
	case syscall.SIGHUP:
		return "the terminal is gone"
	}
	return "interrupted"
}

// signalled is what shells add to the number of the signal that a process has died of.
const signalled = 128

// ExitCode is that of a process which ended because of the signal.
func (e *InterruptError) ExitCode() int {
	if s, ok := e.Signal.(syscall.Signal); ok {
		return signalled + int(s)
	}
	return 1
}
