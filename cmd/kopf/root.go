package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/runner"
)

// The exit codes, beside those of operators, which are passed on, and those of signals,
// which are 128 and the number of the signal.
const (
	exitFailure = 1
	exitUsage   = 2
)

const exitCodes = `Exit codes:
  0    all went well
  1    something failed; standard error says what
  2    the command line makes no sense
  130  ended by ctrl+c before it was done (143 by SIGTERM)
  Others are those of the operator; one that ends when it is asked to has done well.`

// exitError ends the process with a code when all that is to say was said.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

// execute runs a command line and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	return report(ctx, cmd, err, stderr)
}

// report tells what went wrong, and returns the exit code.
func report(ctx context.Context, cmd *cobra.Command, err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	// What was being done may have wrapped the interruption into something else.
	interrupted, ok := errors.AsType[*runner.InterruptError](err)
	if !ok && errors.Is(err, context.Canceled) {
		interrupted, ok = errors.AsType[*runner.InterruptError](context.Cause(ctx))
	}
	if ok {
		fmt.Fprintf(stderr, "kopf: %v\n", interrupted)
		return interrupted.ExitCode()
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	if failure, ok := errors.AsType[*runner.BuildFailure](err); ok {
		fmt.Fprintln(stderr, failure) // the compiler's list, and nothing else
		return exitFailure
	}
	fmt.Fprintf(stderr, "kopf: %v\n", err)
	if _, ok := errors.AsType[*usageError](err); ok || !hasRun(cmd) {
		fmt.Fprintf(stderr, "See: %s --help\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailure
}

// ranAnnotation marks the command that has got as far as to run: errors before that are
// in the command line.
const ranAnnotation = "kopf/ran"

func hasRun(cmd *cobra.Command) bool { return cmd.Annotations[ranAnnotation] != "" }

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "kopf",
		Short: "Write Kubernetes operators, and nothing around them",
		Long: `Kopf builds and runs Kubernetes operators from packages of handlers.

A package with a function Register(*kopf.Registry) is all it takes: kopf dev shows what
it does while you write it, and kopf run runs it. Neither needs a cluster: without one,
a real control plane is started on this machine.

` + exitCodes,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			if cmd.Annotations == nil {
				cmd.Annotations = make(map[string]string)
			}
			cmd.Annotations[ranAnnotation] = "yes"
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(
		newDevCommand(),
		newRunCommand(),
		newBuildCommand(),
		newClusterCommand(),
		newVersionCommand(),
	)
	return root
}
