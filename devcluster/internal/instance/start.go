package instance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// Config configures the start of a control plane.
type Config struct {
	Binary string
	Dir    string
	// Context is the name of the context in the kubeconfig that is written.
	Context string
	// Project is the folder of the project that a new cluster is created for, if any. The
	// start fails with ErrInUse if the directory is of another project.
	Project string
	// Detached makes the process outlive this one; otherwise it ends with it.
	Detached  bool
	Ephemeral bool
	// FeatureGates enable and disable features of the API server. Defaults to the feature gates of the last start in
	// the directory.
	FeatureGates string
	// Copy makes it a copy of another cluster: no controllers run but the controller of namespaces, and
	// [Load] stores objects in it.
	Copy bool
}

// Process is a control plane that this process has started.
type Process struct {
	Ready Ready

	config Config
	cmd    *exec.Cmd
	guard  io.Closer
	exited chan struct{}
	err    error // error of the process; set before exited is closed
}

// Start runs the program and waits until the cluster is usable. Cancelling the context
// meanwhile kills the process; afterwards it has no effect. The error is of the kind ErrInUse
// if another process uses the directory, and of the kind ErrStart otherwise.
func Start(ctx context.Context, c Config) (_ *Process, err error) {
	begun, err := c.createDir()
	if err != nil {
		return nil, err
	}
	defer begun()
	forgetGates, err := c.rememberGates()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && !c.Ephemeral {
			err = errors.Join(err, forgetGates())
		}
	}()
	output, err := os.OpenFile(filepath.Join(c.Dir, outputFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the output file: %w", err)
	}
	defer func() { _ = output.Close() }() // the child has its own handle

	p := &Process{config: c, exited: make(chan struct{})}
	p.cmd = exec.Command(c.Binary, c.args()...)
	p.cmd.Env = environment(os.Environ())
	p.cmd.Stderr = output
	// In a session of its own, neither Ctrl-C nor the end of the terminal reaches the cluster before the operator
	// has stopped, and Linux can give it another share of the CPU time.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !c.Detached {
		if p.guard, err = p.cmd.StdinPipe(); err != nil {
			return nil, fmt.Errorf("create the guard pipe: %w", err)
		}
	}
	stdout, stdoutW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("create the output pipe: %w", err)
	}
	defer func() { _ = stdout.Close() }() // it delivers a single line
	p.cmd.Stdout = stdoutW
	err = errors.Join(p.cmd.Start(), stdoutW.Close())
	if err != nil {
		return nil, &fault.Error{Kind: fault.ErrStart, Message: "cannot run the control plane " + c.Binary, Cause: err, Next: "check that the file is executable on this machine"}
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()

	line := make(chan string, 1)
	go func() {
		s, _ := bufio.NewReader(stdout).ReadString('\n') // empty if the process exits first
		line <- s
	}()
	select {
	case s := <-line:
		if err := p.read(s); err != nil {
			return nil, c.explain(err, p.kill())
		}
		return p, nil
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), p.kill(), c.forget())
	}
}

func (c Config) args() []string {
	args := []string{"--data-dir", c.Dir, "--context", c.Context}
	if !c.Detached {
		args = append(args, "--guard")
	}
	if c.Ephemeral {
		args = append(args, "--ephemeral")
	}
	if c.Copy {
		args = append(args, "--copy")
	}
	if c.FeatureGates != "" {
		args = append(args, "--feature-gates="+c.FeatureGates)
	}
	return args
}

// read parses the line that the program prints when it is usable or has failed.
func (p *Process) read(line string) error {
	if line == "" {
		return errors.New("it exited without an output")
	}
	var answer struct {
		Ready
		Failure
	}
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		return fmt.Errorf("unexpected output %q: %w", strings.TrimSpace(line), err)
	}
	if answer.Message != "" {
		return failureError(answer.Failure)
	}
	p.Ready = answer.Ready
	return nil
}

// failureError returns an error of the kind ErrInUse if another process uses the directory.
func failureError(f Failure) error {
	if f.Reason == "in-use" {
		return fmt.Errorf("%w: %s", fault.ErrInUse, f.Message)
	}
	return errors.New(f.Message)
}

// explain wraps the reason of a failed start and names the log files, unless the disk has no space for them.
func (c Config) explain(err, killErr error) error {
	failure := &fault.Error{
		Kind:    fault.ErrStart,
		Message: "cannot start the control plane in " + c.Dir,
		Cause:   errors.Join(err, killErr),
		Next:    fmt.Sprintf("see %s and %s in that directory", outputFile, logFile),
	}
	switch {
	case errors.Is(err, fault.ErrInUse):
		failure.Kind = fault.ErrInUse
	case isFull(c.Dir):
		failure.Kind, failure.Next = fault.ErrDiskFull, "the disk of that directory is full: free some space there, and try again"
	}
	return failure
}

// spaceToStart is the size in bytes of a file that a disk has no room for when it counts as full.
const spaceToStart = 1 << 20

// isFull reports whether a disk or a quota has no space left. The program may have been unable to log that.
func isFull(dir string) bool {
	file, err := os.CreateTemp(dir, "space-*")
	if err == nil {
		_, err = file.Write(make([]byte, spaceToStart))
		err = errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
