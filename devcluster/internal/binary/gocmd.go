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
	// interruptGrace is what the go command gets to clean up behind itself.
	interruptGrace = 3 * time.Second
	// shownLines bounds how much of the compiler's output is put into an error.
	shownLines = 20
)

// goCommand runs the go command in a directory and returns its standard output. Each line of its standard
// error is offered to seen; those that it does not want are the error's text.
// Cancelling the context ends the command with all its compilers.
func (b builder) goCommand(ctx context.Context, dir string, seen func(line string) bool, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// The source is a module of its own, whatever workspace the user is in.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOTMPDIR="+b.tmp)
	var stdout bytes.Buffer
	stderr := lineWriter{seen: seen}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// An own group, so that all of it can be ended, and so that Ctrl-C reaches it only through us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = interruptGrace
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("running go: %w", err)
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), killGroup(cmd.Process.Pid, syscall.SIGKILL))
	}
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return stdout.Bytes(), stderr.err()
	}
	if err != nil {
		return nil, fmt.Errorf("running go: %w", err)
	}
	return stdout.Bytes(), nil
}

// lineWriter cuts what is written into lines, and keeps those that nobody wants to see.
type lineWriter struct {
	seen func(line string) bool
	part []byte
	kept []string
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
	if w.seen != nil && w.seen(line) || strings.TrimSpace(line) == "" {
		return
	}
	w.kept = append(w.kept, line)
}

// err makes an error of the lines that were kept.
func (w *lineWriter) err() error {
	w.line(string(w.part))
	lines := w.kept
	if more := len(lines) - shownLines; more > 0 {
		lines = append(lines[:shownLines:shownLines], fmt.Sprintf("(and %d lines more)", more))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// killGroup signals a command and its children. That nobody is left is fine.
func killGroup(pid int, s syscall.Signal) error {
	if err := syscall.Kill(-pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
