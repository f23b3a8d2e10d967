package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
	"github.com/kopf-dev/kopf/tui"
	"github.com/kopf-dev/kopf/tui/stream"
)

// attachFlags are the flags of kopf attach.
type attachFlags struct {
	allowActions   bool
	logFormat      string
	verbose, quiet bool
}

func newAttachCommand() *cobra.Command {
	var f attachFlags
	cmd := &cobra.Command{
		Use:   "attach [ADDRESS]",
		Short: "Show a running operator in the workbench",
		Long: `Show what a running operator does in the workbench of kopf dev: one of kopf run on this
machine, or one whose inspector has an address, unix:PATH or tcp:127.0.0.1:PORT. A deployed
operator that was started with --inspect=tcp:127.0.0.1:7070 is reached through a port-forward; the
inspector then wants the token of KOPF_INSPECTOR_TOKEN: see kopf retry.

The operator is only looked at, unless --allow-actions is given. When it ends, kopf attach waits for
one at the same address. Without a terminal, or with --log-format, it prints lines.

` + exitCodes,
		Example: `  # The operator that kopf run has started on this machine
  kopf attach

  # A deployed one, with the right to pause it and to retry
  kubectl port-forward deploy/operator 7070 &
  KOPF_INSPECTOR_TOKEN=... kopf attach tcp:127.0.0.1:7070 --allow-actions`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return attach(cmd, &f, args) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.BoolVar(&f.allowActions, "allow-actions", false, "allow to retry, pause and resume")
	set.StringVar(&f.logFormat, "log-format", "plain", "print lines instead of the workbench: plain or json")
	set.BoolVarP(&f.verbose, "verbose", "v", false, "(lines) show what the framework is doing")
	set.BoolVarP(&f.quiet, "quiet", "q", false, "(lines) show only what needs attention")
	completeWith(cmd, "log-format", "plain", "json")
	return cmd
}

func attach(cmd *cobra.Command, f *attachFlags, args []string) error {
	if f.logFormat != "plain" && f.logFormat != "json" {
		return usagef("--log-format=%s: want plain or json", f.logFormat)
	}
	if f.quiet && f.verbose {
		return usagef("--quiet excludes --verbose: use one or the other")
	}
	address := ""
	if len(args) > 0 {
		address = args[0]
		if _, _, err := inspect.ParseAddress(address); err != nil {
			return &usageError{err}
		}
	}
	op, err := oneOperator(cmd.Context(), address)
	if err != nil {
		return err
	}
	// The socket of an operator that was found on this machine is of that one only.
	attachment, err := runner.NewAttachment(runner.AttachOptions{Address: op.Address, ReadOnly: !f.allowActions, Once: address == ""})
	if err != nil {
		return usagef("%w", err)
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- attachment.Run(ctx)
		cancel()
	}()
	out := cmd.OutOrStdout()
	if showsWorkbench(cmd, isTerminal(os.Stdin) && isTerminal(out) && os.Getenv("TERM") != "dumb") {
		err = libraries.hideWhile(func() error { return tui.Run(ctx, attachment, tui.Options{Title: printable.Line(op.Address)}) })
	} else {
		format := stream.Plain
		if f.logFormat == "json" {
			format = stream.JSON
		}
		err = stream.Run(ctx, attachment, out, stream.Options{
			Format: format, Quiet: f.quiet, Verbose: f.verbose,
			Colour: isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		})
	}
	cancel()
	return errors.Join(err, <-ended, interruption(cmd.Context()))
}
