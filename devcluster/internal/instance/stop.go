package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// pollInterval is how often a process that is not our child is looked at.
const pollInterval = 20 * time.Millisecond

// Stop ends the process, by force when the context ends before the process does.
func (p *Process) Stop(ctx context.Context) error {
	// The signal would do alone. Closing the guard as well keeps no pipe open.
	err := ignoreGone(p.cmd.Process.Signal(syscall.SIGTERM))
	if p.guard != nil {
		// Where the process has ended by itself, its guard is closed already.
		if closing := p.guard.Close(); !errors.Is(closing, os.ErrClosed) {
			err = errors.Join(err, closing)
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("stopping the control plane: %w", err), p.kill())
	}
	select {
	case <-p.exited:
		return p.exitError()
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("the control plane did not stop in time: %w", context.Cause(ctx)), p.kill())
	}
}

// Exited is closed when the process has ended, for whatever reason.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// exitError is nil for an exit that was asked for.
func (p *Process) exitError() error {
	if e, ok := errors.AsType[*exec.ExitError](p.err); ok && e.Sys().(syscall.WaitStatus).Signaled() {
		return nil // gone is gone; the data survive any end
	}
	if p.err != nil {
		return fmt.Errorf("the control plane ended: %w", p.err)
	}
	return nil
}

func (p *Process) kill() error {
	if p.guard != nil {
		_ = p.guard.Close() // may be closed already
	}
	err := ignoreGone(p.cmd.Process.Kill())
	<-p.exited
	return err
}

func ignoreGone(err error) error {
	if errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// Stop ends the process that holds a data directory. It need not be a child of ours.
// When the context ends before the process does, that is an error.
func Stop(ctx context.Context, dir string) error {
	s, err := Read(dir)
	if err != nil || s.PID == 0 {
		return err
	}
	if err := ignoreGone(syscall.Kill(s.PID, syscall.SIGTERM)); err != nil {
		return fmt.Errorf("stopping process %d: %w", s.PID, err)
	}
	return wait(ctx, func() (bool, error) {
		now, err := Read(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil // an ephemeral one
		}
		return now.PID != s.PID, err
	})
}

// Wait returns the state of a cluster that is being started by another process, once it is usable.
func Wait(ctx context.Context, dir string) (Status, error) {
	var s Status
	err := wait(ctx, func() (done bool, err error) {
		s, err = Read(dir)
		if err == nil && s.PID == 0 {
			err = &fault.Error{Kind: fault.ErrStart, Message: "the control plane in " + dir + " ended before it was usable", Next: "see " + outputFile + " there"}
		}
		return s.Usable(), err
	})
	return s, err
}

// Remove deletes a data directory of which nobody holds the lock.
func Remove(dir string) error {
	s, err := Read(dir)
	if err != nil {
		return err
	}
	if s.PID != 0 {
		return &fault.Error{Kind: fault.ErrInUse, Message: fmt.Sprintf("%s is used by the process %d", dir, s.PID), Next: "stop that first"}
	}
	// Out of sight first: what is half deleted must not look like a cluster.
	trash, err := os.MkdirTemp(filepath.Dir(filepath.Dir(dir)), "deleted-")
	if err != nil {
		return fmt.Errorf("deleting %s: %w", dir, err)
	}
	if err := errors.Join(os.Rename(dir, filepath.Join(trash, "data")), os.RemoveAll(trash)); err != nil {
		return fmt.Errorf("deleting %s: %w", dir, err)
	}
	return nil
}

// wait polls a condition on the state of another process: nothing tells us when
// somebody else's process ends or a lock is released.
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
