package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// Stop stops the process. It kills the process if the context ends first.
func (p *Process) Stop(ctx context.Context) error {
	// The signal is sufficient. Close the guard too, so that no pipe stays open.
	err := ignoreGone(p.cmd.Process.Signal(syscall.SIGTERM))
	if p.guard != nil {
		// The guard is closed already if the process has exited.
		if closing := p.guard.Close(); !errors.Is(closing, os.ErrClosed) {
			err = errors.Join(err, closing)
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("stop the control plane: %w", err), p.kill(), p.config.forget())
	}
	select {
	case <-p.exited:
		return p.exitError()
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("stop the control plane: it did not exit in time and was killed: %w", context.Cause(ctx)), p.kill(), p.config.forget())
	}
}

// Exited returns a channel that is closed when the process has exited.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// exitError returns the error of the exit, or nil after a signal.
func (p *Process) exitError() error {
	if e, ok := errors.AsType[*exec.ExitError](p.err); ok && e.Sys().(syscall.WaitStatus).Signaled() {
		return nil // killed by a signal; the data are intact
	}
	if p.err != nil {
		return fmt.Errorf("the control plane failed: %w", p.err)
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

// ignoreGone ignores that a process has exited already.
func ignoreGone(err error) error {
	if errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// Stop stops the process that has locked a data directory. It fails if the context ends before the process does.
func Stop(ctx context.Context, dir string) error {
	s, err := Read(dir)
	if err != nil || s.PID == 0 {
		return err
	}
	if err := ignoreGone(syscall.Kill(s.PID, syscall.SIGTERM)); err != nil {
		return fmt.Errorf("stop process %d: %w", s.PID, err)
	}
	return wait(ctx, func() (bool, error) {
		now, err := Read(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil // an ephemeral cluster has deleted it
		}
		return now.PID != s.PID, err
	})
}

// Remove deletes a data directory. It fails if a process has locked the directory.
func Remove(dir string) error {
	s, err := Read(dir)
	if err != nil {
		return err
	}
	if s.Starting {
		return &fault.Error{Kind: fault.ErrInUse, Message: fmt.Sprintf("cannot delete %s: it is being started", dir), Next: "try again"}
	}
	if s.PID != 0 {
		return &fault.Error{Kind: fault.ErrInUse, Message: fmt.Sprintf("cannot delete %s: it is used by process %d", dir, s.PID), Next: "stop that process first"}
	}
	return discard(dir)
}
