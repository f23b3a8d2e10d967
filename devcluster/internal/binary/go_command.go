package binary

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// interruptGrace is how long the go command may take to clean up after an interrupt.
	interruptGrace = 3 * time.Second
	// shownLines is the maximal number of lines of the compiler's output in an error.
	shownLines = 20
)

// goCommand runs the go command in a directory and returns its standard output. It calls
// consume, if not nil, with each line of standard error; the lines for which it returns false
// are the text of the error. Cancelling the context ends the command and its compilers.
func (b builder) goCommand(ctx context.Context, dir string, consume func(line string) bool, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// The source is a separate module, outside of the user's workspace.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOTMPDIR="+b.tmp)
	var stdout bytes.Buffer
	stderr := lineWriter{consume: consume}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// In its own process group, it can be ended with its compilers, and Ctrl-C does not reach it directly.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = interruptGrace
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run go: %w", err)
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), killGroup(cmd.Process.Pid, syscall.SIGKILL))
	}
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return stdout.Bytes(), stderr.err()
	}
	if err != nil {
		return nil, fmt.Errorf("run go: %w", err)
	}
	return stdout.Bytes(), nil
}

// lineWriter splits what is written into lines, and keeps those that are not consumed.
type lineWriter struct {
	consume func(line string) bool
	part    []byte
	kept    []string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.part = append(w.part, p...)
	for {
		line, rest, complete := bytes.Cut(w.part, []byte("\n"))
		if !complete {
			return len(p), nil
		}
		w.line(string(line))
		w.part = rest
	}
}

func (w *lineWriter) line(line string) {
	if w.consume != nil && w.consume(line) || strings.TrimSpace(line) == "" {
		return
	}
	w.kept = append(w.kept, line)
}

// err returns an error with the kept lines.
func (w *lineWriter) err() error {
	w.line(string(w.part))
	lines := w.kept
	if more := len(lines) - shownLines; more > 0 {
		lines = append(lines[:shownLines:shownLines], fmt.Sprintf("(and %d more lines)", more))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// killGroup signals a command and its children. It ignores that they have exited.
func killGroup(pid int, s syscall.Signal) error {
	if err := syscall.Kill(-pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
