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

	"github.com/kopf-dev/kopf/internal/gocommand"
)

// stdinGuardEnv makes an operator stop gracefully when its standard input closes, as it
// does when this process ends, even if it is killed.
const stdinGuardEnv = "KOPF_STDIN_GUARD=1"

// defaultGrace is how long an operator may take to stop before it is killed.
const defaultGrace = 10 * time.Second

// outputDrain is how long the output of an operator is read after its exit, because the operator's children may keep it
// open.
const outputDrain = time.Second

// child is the running process of an operator.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{} // closed when the process has exited and its output was read
	err   error         // error of the exit; set before done is closed
	once  sync.Once
}

// childSpec configures the process of an operator.
type childSpec struct {
	path       string
	args       []string
	dir        string
	kubeconfig string                         // path of the only kubeconfig that the operator can find; see surroundings
	proxies    bool                           // pass on the proxy variables of this process
	env        []string                       // additional environment variables
	note       string                         // path of the file in which the operator records its end; optional
	asksWayIn  bool                           // the operator may exit to request a tunnel, by the note
	stdout     *os.File                       // standard output if line is nil
	stderr     *os.File                       // standard error if line is nil
	line       func(stderr bool, text string) // called for every line of the output
}

// start starts an operator in its own process group, so that an interrupt at the terminal
// reaches only this process, which decides whether to forward it.
func start(spec childSpec) (*child, error) {
	cmd := exec.Command(spec.path, spec.args...)
	cmd.Args[0] = "operator" // name of the program in its error messages
	cmd.Dir = spec.dir
	cmd.Env = append(append(surroundings(os.Environ(), spec.kubeconfig, spec.proxies), stdinGuardEnv), spec.env...)
	if spec.note != "" {
		cmd.Env = append(cmd.Env, exitNoteEnv+"="+spec.note)
	}
	if spec.asksWayIn {
		cmd.Env = append(cmd.Env, wayInEnv)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = outputDrain
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	c := &child{cmd: cmd, stdin: stdin, done: make(chan struct{})}
	var lines []*gocommand.LineWriter
	if spec.line == nil {
		cmd.Stdout, cmd.Stderr = spec.stdout, spec.stderr
	} else {
		lines = []*gocommand.LineWriter{
			{Line: func(text string) { spec.line(false, text) }},
			{Line: func(text string) { spec.line(true, text) }},
		}
		cmd.Stdout, cmd.Stderr = lines[0], lines[1]
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	go func() {
		c.err = cmd.Wait()
		for _, w := range lines {
			w.Flush()
		}
		if errors.Is(c.err, exec.ErrWaitDelay) {
			c.err = nil // the operator itself has exited, and only its children still run
		}
		close(c.done)
	}()
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// signal sends a signal to the operator. It ignores the error of a process that has exited.
func (c *child) signal(s os.Signal) { _ = c.cmd.Process.Signal(s) }

// stop asks the operator to stop, and kills it after the grace period.
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

// kill kills the operator and its children.
func (c *child) kill() {
	// An error means that no process of the group is left.
	_ = syscall.Kill(-c.pid(), syscall.SIGKILL)
}

// exitCode returns the exit code of the exited operator, as a shell reports it.
func (c *child) exitCode() int {
	if signal := c.killedBy(); signal != 0 {
		return signalExitBase + int(signal)
	}
	return c.cmd.ProcessState.ExitCode()
}

// killedBy returns the signal that killed the exited operator; 0 if none did.
func (c *child) killedBy() syscall.Signal {
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}
	return 0
}
