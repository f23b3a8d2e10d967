// Package gocommand runs the go command, and splits the output of processes into lines.
package gocommand

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// interruptGrace is how long the go command may take to clean up after an interrupt.
const interruptGrace = 3 * time.Second

// Command configures a run of the go command.
type Command struct {
	Dir string   // the working directory; the current one if empty
	Env []string // added to the environment of this process

	// Tmp is the folder for temporary files of the go command, and of the compilers and linkers that it runs. Killed
	// compilers leave files there. Defaults to the system's folder.
	Tmp string

	// Consume is called with each line of standard error. Lines for which it returns true
	// are left out of the returned output. May be nil.
	Consume func(line string) bool
}

// Run runs the go command and returns its output. Cancelling the context ends the command and
// the compilers that it has started; the error is then the context's cause. It is an
// [*exec.ExitError] if the command has failed.
func (c Command) Run(ctx context.Context, args ...string) (stdout, stderr []byte, err error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), c.Env...)
	if c.Tmp != "" {
		cmd.Env = append(cmd.Env, "GOTMPDIR="+c.Tmp, "TMPDIR="+c.Tmp)
	}
	var out, errs bytes.Buffer
	lines := &LineWriter{Line: func(line string) {
		if c.Consume == nil || !c.Consume(line) {
			errs.WriteString(line + "\n")
		}
	}}
	cmd.Stdout, cmd.Stderr = &out, lines
	// In its own process group, the command can be ended with its compilers, and an interrupt of
	// the terminal does not reach it directly.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return signalGroup(cmd, syscall.SIGINT) }
	cmd.WaitDelay = interruptGrace
	err = cmd.Run()
	lines.Flush()
	if ctx.Err() != nil {
		err := context.Cause(ctx)
		if cmd.Process != nil {
			err = errors.Join(err, signalGroup(cmd, syscall.SIGKILL)) // what ignored the interrupt
		}
		return nil, nil, err
	}
	return out.Bytes(), errs.Bytes(), err
}

// signalGroup signals a command and its children. It ignores that all of them have exited.
func signalGroup(cmd *exec.Cmd, s syscall.Signal) error {
	if err := syscall.Kill(-cmd.Process.Pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
