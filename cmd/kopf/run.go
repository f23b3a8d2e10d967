package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tunnel"
)

func newRunCommand() *cobra.Command {
	var f operatorFlags
	cmd := &cobra.Command{
		Use:   "run PACKAGE...",
		Short: "Build and run an operator",
		Long: `Build an operator from one or several packages with a function
Register(*kopf.Registry), and run it. Nothing is written to your folders.

Name packages as for the go command: ./folder, ./folder/..., or an import path. A program
(package main) with its own func main is built unchanged.

Without --context or --kubeconfig, the operator uses the development cluster of the project,
which is the module of the current folder. If the cluster is not running (kopf cluster), it is
started, with its former data, and stops with the operator.

` + exitCodes,
		Example: `  # Run an operator in a cluster that stops with it
  kopf run ./handlers

  # In CI: apply the examples, wait until all are handled, and fail if a handler fails
  kopf run ./handlers --apply crd.yaml --apply examples/ --until=settled --timeout=2m

  # The same, with a report that continuous integration shows
  kopf run ./handlers --apply crd.yaml --apply examples/ --until=settled --report=handlers.xml

  # See whether the permissions that kopf manifests writes are enough
  kopf run ./handlers --apply crd.yaml --apply examples/ --until=settled --as-deployed

  # With one of your clusters, in two namespaces
  kopf run ./handlers --context=staging --yes -n app-one -n app-two`,
		Args:              wantPackages,
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return runOperator(cmd, &f, args)
		},
	}
	f.add(cmd, "full", "plain", "json", "none")
	cmd.Flags().StringVar(&f.report, "report", "", "with --until=settled: write the outcome of each handler to this file, in the format of JUnit")
	if err := cmd.MarkFlagFilename("report", "xml"); err != nil {
		panic(err) // the flag is not defined: a bug in this function
	}
	cmd.Flags().StringVar(&f.inspect, "inspect", "", "publish the operator's state at unix:PATH or tcp:127.0.0.1:PORT (KOPF_INSPECTOR_TOKEN sets its token), not at a private socket")
	return cmd
}

func runOperator(cmd *cobra.Command, f *operatorFlags, patterns []string) (err error) {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current folder: %w", err)
	}
	// Signals are forwarded to the operator, so they must not cancel the context.
	ctx := context.WithoutCancel(cmd.Context())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	defer signal.Stop(signals)

	printer := &progressPrinter{cmd: cmd, flags: f, line: newProgressLine(cmd.ErrOrStderr())}
	var cluster operatorCluster
	defer func() { err = errors.Join(err, cluster.close(ctx)) }()
	way := newWayIn(&cluster, &f.webhooks, printer.say)
	defer func() { err = errors.Join(err, way.close(ctx)) }()
	deployed := newAsDeployed(cmd, f, dir, patterns, &cluster, printer.warn)
	defer func() { err = errors.Join(err, deployed.close(ctx)) }()
	reviewer := &reviewer{dir: dir, args: f.scope(cmd), cluster: &cluster}
	options := runner.RunOptions{
		Dir:      dir,
		Patterns: patterns,
		Project:  devcluster.ProjectOf(dir),
		Args:     append(f.scope(cmd), f.logging(cmd)...),
		OpenCluster: func(ctx context.Context) (runner.Cluster, error) {
			c, err := cluster.open(ctx, f.options(printer.progress))
			printer.endProgress()
			if err == nil {
				printer.say(false, describe(c))
				if kept := f.keptProxies(); kept != "" {
					printer.say(false, kept)
				}
				cluster.cleanUpBefore(ctx, printer.say)
			}
			return c, err
		},
		Connect:      deployed.connector(&cluster),
		Proxies:      f.proxy,
		Apply:        cluster.apply,
		Reviewed:     reviewer.reviewed,
		Inspect:      f.inspect,
		Manifests:    f.manifests,
		UntilSettled: f.until == settled,
		Timeout:      f.timeout,
		Report:       f.report,
		Signals:      signals,
		Progress:     printer.say,
		Stdout:       os.Stdout,
		Stderr:       os.Stderr,
	}
	if f.webhooks.way != tunnel.Off {
		options.WayIn = way
	}
	code, err := runner.Run(ctx, options)
	missing := deployed.report(cmd.ErrOrStderr()) // also if the run has failed, which may be why
	if err == nil && code != 0 {
		return &exitError{code: code}
	}
	return cmp.Or(err, missing)
}
