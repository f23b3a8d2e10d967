package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/internal/objects"
	"github.com/kopf-dev/kopf/podinspector"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
	"github.com/kopf-dev/kopf/tui"
	"github.com/kopf-dev/kopf/tui/stream"
)

// attachFlags are the flags of kopf attach.
type attachFlags struct {
	choice         operatorChoice
	allowActions   bool
	logFormat      string
	verbose, quiet bool

	// For an operator in a pod.
	kubeconfig, context, namespace string
	port                           int
}

func newAttachCommand() *cobra.Command {
	var f attachFlags
	cmd := &cobra.Command{
		Use:   "attach [ADDRESS | pod/NAME | deploy/NAME]",
		Short: "Show a running operator in the workbench",
		Long: `Show what a running operator does in the workbench of kopf dev: one of kopf run on this
machine, which is that of the project of the current folder if it runs, one whose inspector has an
address, unix:PATH or tcp:127.0.0.1:PORT, or one in a pod that was started with
--inspect=tcp:127.0.0.1:PORT. The API server forwards the port of the pod; of a
deployment, it is that of a pod that is ready. The token of the inspector is that of
KOPF_INSPECTOR_TOKEN here, or else that of this variable in the container.

The operator is only looked at, unless --allow-actions is given. When it ends, kopf attach waits for
one at the same address, or for the next pod. Without a terminal, or with --log-format, it prints
lines.

` + exitCodes,
		Example: `  # The operator that kopf run has started on this machine
  kopf attach

  # The one of another project
  kopf attach --project=hello

  # A deployed one, with the right to pause it and to retry
  kopf attach deploy/operator -n operators --context=staging --allow-actions`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return attach(cmd, &f, args) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	f.choice.addProject(cmd, "ADDRESS")
	set.BoolVar(&f.allowActions, "allow-actions", false, "allow to retry, pause and resume")
	set.StringVar(&f.logFormat, "log-format", "plain", "print lines instead of the workbench: plain or json")
	set.BoolVarP(&f.verbose, "verbose", "v", false, "(lines) show the framework's own actions")
	set.BoolVarP(&f.quiet, "quiet", "q", false, "(lines) show only problems")
	set.StringVarP(&f.namespace, "namespace", "n", "", "(pods) the namespace of the pod or the deployment (default: that of the context)")
	set.StringVar(&f.context, "context", "", "(pods) the context of the kubeconfig to use")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "(pods) the kubeconfig file to use (default: $KUBECONFIG, ~/.kube/config)")
	set.IntVar(&f.port, "port", 0, "(pods) the port of the inspector (default: that of the flag --inspect in the pod)")
	completeWith(cmd, "log-format", "plain", "json")
	registerCompletion(cmd, "context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		names, err := devcluster.Contexts(f.kubeconfig)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return completions(names)
	})
	return cmd
}

func attach(cmd *cobra.Command, f *attachFlags, args []string) error {
	if f.logFormat != "plain" && f.logFormat != "json" {
		return usagef("--log-format=%s: want plain or json", f.logFormat)
	}
	if f.quiet && f.verbose {
		return usagef("--quiet excludes --verbose: use one or the other")
	}
	options, err := f.attachOptions(cmd, args)
	if err != nil {
		return err
	}
	attachment, err := runner.NewAttachment(options)
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
	if showsWorkbench(cmd, hasTerminal(cmd)) {
		err = libraries.hideWhile(func() error {
			return tui.Run(ctx, attachment, tui.Options{Title: printable.Line(options.Address), Layout: layoutFile()})
		})
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

// podFlags are the flags of kopf attach for operators in pods.
var podFlags = []string{"namespace", "context", "kubeconfig", "port"}

// attachOptions finds the operator of the arguments, and connects to it once, so that a wrong name is an error
// rather than an endless wait.
func (f *attachFlags) attachOptions(cmd *cobra.Command, args []string) (runner.AttachOptions, error) {
	options := runner.AttachOptions{ReadOnly: !f.allowActions, Look: objects.Inspected}
	if len(args) > 0 {
		if target, ok := podinspector.ParseTarget(args[0], f.namespace); ok && f.choice.project == "" {
			return f.connectPod(cmd.Context(), target, options)
		}
	}
	if len(args) > 0 && f.choice.project != "" {
		return options, usagef("%s: --project excludes an address: use one or the other", args[0])
	}
	for _, name := range podFlags {
		if cmd.Flags().Changed(name) {
			return options, usagef("--%s is for operators in pods; name one as pod/NAME or deploy/NAME", name)
		}
	}
	if len(args) > 0 {
		options.Address = args[0]
		if _, _, err := inspect.ParseAddress(options.Address); err != nil {
			return options, usagef("%w, pod/NAME or deploy/NAME", err)
		}
	}
	choice := f.choice
	choice.inspect = options.Address
	op, err := choice.one(cmd.Context())
	// The socket of an operator that was found on this machine is of that one only.
	options.Address, options.Once = op.Address, options.Address == ""
	return options, err
}

func (f *attachFlags) connectPod(ctx context.Context, target podinspector.Target, options runner.AttachOptions) (runner.AttachOptions, error) {
	if f.port < 0 || f.port > math.MaxUint16 {
		return options, usagef("--port=%d: want the number of a port", f.port)
	}
	loader := kubeconfigLoader(f.kubeconfig, f.context)
	config, err := clusterConfig(loader)
	if err != nil {
		return options, err
	}
	if target.Namespace == "" {
		if target.Namespace, _, err = loader.Namespace(); err != nil {
			return options, fmt.Errorf("find the namespace of the context: %w; name one with -n", err)
		}
	}
	target.Port = f.port
	if options.Client, err = podinspector.Connect(ctx, config, target); err != nil {
		return options, err
	}
	if _, err := options.Client.Snapshot(ctx); err != nil {
		return options, fmt.Errorf("attach to the operator of %s: %w", target, printable.Error(err))
	}
	options.Address = target.String()
	return options, nil
}
