package box

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// StartOutside starts a program without a box. Only its environment is limited.
func StartOutside(s Spec) (*Process, error) {
	cmd := exec.Command(s.Path, s.Args...)
	cmd.Args[0], cmd.Dir, cmd.Stdout, cmd.Stderr = s.name(), s.Dir, s.Stdout, s.Stderr
	cmd.WaitDelay = time.Second
	cmd.Env = append(s.Env, "HOME="+s.Shared, "KOPF_STDIN_GUARD=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	guard, err := cmd.StdinPipe() // closes when this process ends, even if it is killed, and the operator then stops
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	pid := cmd.Process.Pid
	p := &Process{
		done: make(chan struct{}),
		kill: func() { _ = syscall.Kill(-pid, syscall.SIGKILL) }, // an error means that no process of the group is left
		term: func() { _ = cmd.Process.Signal(os.Interrupt) },
	}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
		_ = guard.Close()
	}()
	return p, nil
}
