package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"
)

const (
	// sessionPeriod is how often Linux permits a user to change the niceness of a session.
	sessionPeriod   = 100 * time.Millisecond
	sessionAttempts = 20
)

// lowerSession lowers the share of the session of the process: on desktops, Linux divides the CPU time between
// sessions first (sched_autogroup), and the niceness of a process counts only inside its session.
func lowerSession(ctx context.Context, pid int) error {
	path := fmt.Sprintf("/proc/%d/autogroup", pid)
	for attempt := 1; ; attempt++ {
		err := os.WriteFile(path, []byte(strconv.Itoa(lowNiceness)), 0)
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist): // there are no such shares
			return nil
		case !errors.Is(err, syscall.EAGAIN) || attempt == sessionAttempts:
			return fmt.Errorf("lower the priority of the session of the process %d: %w", pid, err)
		}
		select {
		case <-time.After(sessionPeriod):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
