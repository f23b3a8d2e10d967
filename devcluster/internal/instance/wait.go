package instance

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// Wait waits until a cluster that another process is starting is usable, and returns its
// status. It fails if the process exits first.
func Wait(ctx context.Context, dir string) (Status, error) {
	var s Status
	err := wait(ctx, func() (done bool, err error) {
		s, err = Read(dir)
		if err == nil && s.PID == 0 {
			err = &fault.Error{Kind: fault.ErrStart, Message: "the control plane in " + dir + " exited before it was usable", Next: "see " + outputFile + " in that directory"}
		}
		return s.Usable(), err
	})
	return s, err
}

// wait polls a condition on the state of another process: there is no notification of the
// exit of a process that is not a child, or of the release of a lock.
func wait(ctx context.Context, done func() (bool, error)) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// pollInterval is how often a process that is not a child of this one is checked.
const pollInterval = 20 * time.Millisecond
