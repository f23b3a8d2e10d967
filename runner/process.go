package runner

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// stdinGuard makes an operator stop gracefully when its standard input is closed, which
// happens even if this process is killed.
const stdinGuard = "KOPF_STDIN_GUARD=1"

// defaultGrace is how long an operator may take to stop.
const defaultGrace = 10 * time.Second

// drain is how long the output of an operator is read after its end: processes that it
// has left behind may hold it open.
const drain = time.Second

// child is a running operator.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{} // closed when it has ended and its output is read
	err   error         // how; valid after done
	once  sync.Once
}

// childSpec is how an operator is started.
type childSpec struct {
	path   string
	args   []string
	dir    string
	env    []string                       // in addition to this process's
	stdout *os.File                       // passed through, unless there is line
	stderr *os.File                       // the same
	line   func(stderr bool, text string) // is called for every line of the output
}

// start starts an operator in a process group of its own: an interrupt at the terminal
// reaches only this process, which decides what it means for the operator.
func start(spec childSpec) (*child, error) {
	cmd := exec.Command(spec.path, spec.args...)
	cmd.Args[0] = "operator" // as it calls itself in its errors
	cmd.Dir = spec.dir
	cmd.Env = append(os.Environ(), append(spec.env, stdinGuard)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = drain
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the operator: %w", err)
	}
	c := &child{cmd: cmd, stdin: stdin, done: make(chan struct{})}
	var lines []*lineWriter
	if spec.line == nil {
		cmd.Stdout, cmd.Stderr = spec.stdout, spec.stderr
	} else {
		lines = []*lineWriter{
			{line: func(text string) { spec.line(false, text) }},
			{line: func(text string) { spec.line(true, text) }},
		}
		cmd.Stdout, cmd.Stderr = lines[0], lines[1]
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the operator: %w", err)
	}
	go func() {
		c.err = cmd.Wait()
		for _, w := range lines {
			w.flush()
		}
		if errors.Is(c.err, exec.ErrWaitDelay) {
			c.err = nil // the operator itself has ended well
		}
		close(c.done)
	}()
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// signal passes a signal on. An operator that has just ended needs none.
func (c *child) signal(s os.Signal) { _ = c.cmd.Process.Signal(s) }

// stop ends the operator gracefully, and after the grace period in any case.
func (c *child) stop(grace time.Duration) {
	c.once.Do(func() { c.signal(syscall.SIGTERM) })
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		c.kill()
		<-c.done
	}
}

// kill ends the operator and what it has started.
func (c *child) kill() {
	// It fails if nothing of the group is left, which is the aim.
	_ = syscall.Kill(-c.pid(), syscall.SIGKILL)
}

// exitCode is that of the ended operator, as a shell would tell it.
func (c *child) exitCode() int {
	state := c.cmd.ProcessState
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return signalled + int(status.Signal())
	}
	return state.ExitCode()
}
