package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// The exit codes of kopf. Other codes come from operators, whose codes are passed on, and from signals: 128 plus the
// number of the signal.
const (
	exitFailure = 1
	exitUsage   = 2
)

const exitCodes = `Exit codes:
  0    success
  1    failure; standard error says what failed
  2    invalid command line, including values and paths that cannot be used
  130  interrupted by ctrl+c before it was done (143 by SIGTERM)
  Others are the operator's own. An operator that stops on a signal is a success.`

// exitError ends the process with a code, without a message.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// usageError is an error in the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

// report prints an error and returns the exit code.
func report(ctx context.Context, cmd *cobra.Command, err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	// An interrupted operation may return an error of its own.
	interrupted, ok := errors.AsType[*runner.InterruptError](err)
	if !ok && errors.Is(err, context.Canceled) {
		interrupted, ok = errors.AsType[*runner.InterruptError](context.Cause(ctx))
	}
	if ok {
		fmt.Fprintf(stderr, "kopf: %s\n", printable.Paragraph(interrupted.Error()))
		return interrupted.ExitCode()
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	if failure, ok := errors.AsType[*runner.BuildFailure](err); ok {
		fmt.Fprintln(stderr, printable.Lines(failure.Error())) // the compiler's list only
		if advice := diskFullAdvice(err); advice != "" {
			fmt.Fprintf(stderr, "kopf: build the operator%s\n", advice)
		}
		return exitFailure
	}
	fmt.Fprintf(stderr, "kopf: %s\n", printable.Paragraph(printable.WithoutPasswords(err.Error())+diskFullAdvice(err)))
	if !isUsage(err) && hasRun(cmd) {
		return exitFailure
	}
	if cmd.Name() == "help" {
		cmd = cmd.Parent()
	}
	fmt.Fprintf(stderr, "See: %s --help\n", cmd.CommandPath())
	return exitUsage
}

// isUsage reports whether the error is a usage error: an error in the flags, or a value or a path that turns out to
// be unusable.
func isUsage(err error) bool {
	if _, ok := errors.AsType[*usageError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*apply.PathError](err); ok {
		return true
	}
	if p, ok := errors.AsType[*runner.PackageError](err); ok && p.NotFound {
		return true
	}
	return errors.Is(err, devcluster.ErrInvalid)
}

// ranAnnotation marks a command that has started to run. Errors before that are usage errors.
const ranAnnotation = "kopf/ran"

func hasRun(cmd *cobra.Command) bool { return cmd.Annotations[ranAnnotation] != "" }
