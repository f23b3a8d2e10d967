package instance

import (
	"fmt"
	"syscall"
)

// lowNiceness gives a control plane a third of the CPU time of a program that competes with it: the terminal in which
// somebody types answers at once, and tests on a busy machine do not run out of time.
const lowNiceness = 5

// LowerPriority makes other programs go first where the CPU is scarce. It takes effect after the start, which is not to
// take longer.
func (p *Process) LowerPriority() error {
	pid := p.cmd.Process.Pid
	// The priority is one of each thread. The process has a group of its own, which names all its threads.
	if err := syscall.Setpriority(syscall.PRIO_PGRP, pid, lowNiceness); err != nil {
		return fmt.Errorf("lower the priority of the process %d: %w", pid, err)
	}
	return lowerSession(pid)
}
