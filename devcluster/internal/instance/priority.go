package instance

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// lowNiceness gives a control plane a third of the CPU time of a program that competes with it: the terminal
// answers at once when a user types, and tests on a busy machine do not run out of time.
const lowNiceness = 5

// LowerPriority makes other programs go first where the CPU is scarce. It is called after the start, so that the
// start is not slowed down.
func (p *Process) LowerPriority(ctx context.Context) error {
	pid := p.cmd.Process.Pid
	// Linux has a niceness for each thread; the process group covers all of them.
	err := syscall.Setpriority(syscall.PRIO_PGRP, pid, lowNiceness)
	if err != nil && !errors.Is(err, syscall.EACCES) { // EACCES: it is lower already, as this program's is
		return fmt.Errorf("lower the priority of the process %d: %w", pid, err)
	}
	return lowerSession(ctx, pid)
}
