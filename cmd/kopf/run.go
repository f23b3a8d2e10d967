package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/runner"
)

func newRunCommand() *cobra.Command {
	var f operatorFlags
	cmd := &cobra.Command{
		Use:   "run PACKAGE...",
		Short: "Build and run an operator",
		Long: `Build an operator from one or several packages with a function
Register(*kopf.Registry), and run it. Nothing is written into your folders.

Packages are named as for the go command: ./folder, ./folder/..., or an import path.
A program (package main) with a func main of its own is built as it is.

Without --context or --kubeconfig, the operator works with a development cluster: with
one that kopf cluster has started, or with its own, which ends with it.

` + exitCodes,
		Example: `  # Run an operator in a cluster that lives as long as it does
  kopf run ./handlers

  # In CI: apply the examples, wait until all are handled, and fail if one is not
  kopf run ./handlers --apply crd.yaml --apply examples/ --until=settled --timeout=2m

  # With a cluster of yours, in two namespaces
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
	cmd.Flags().StringVar(&f.inspect, "inspect", "", "publish the operator's state at unix:PATH or tcp:127.0.0.1:PORT")
	return cmd
}

func runOperator(cmd *cobra.Command, f *operatorFlags, patterns []string) (err error) {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the current folder: %w", err)
	}
	// Signals are the operator's: the context of the command does not end with them.
	ctx := context.WithoutCancel(cmd.Context())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	defer signal.Stop(signals)

	tell := &teller{cmd: cmd, flags: f, line: newProgressLine(cmd.ErrOrStderr())}
	var cluster clusterInUse
	defer func() { err = errors.Join(err, cluster.close(ctx)) }()
	code, err := runner.Run(ctx, runner.RunOptions{
		Dir:      dir,
		Patterns: patterns,
		Args:     append(f.scope(), f.logging(cmd)...),
		OpenCluster: func(ctx context.Context) (runner.Cluster, error) {
			c, err := cluster.open(ctx, f.options(tell.progress))
			tell.endProgress()
			if err == nil {
				tell.say(false, describe(c))
			}
			return c, err
		},
		Apply:        cluster.apply,
		Inspect:      f.inspect,
		Manifests:    f.manifests,
		UntilSettled: f.until == settled,
		Timeout:      f.timeout,
		Signals:      signals,
		Progress:     tell.say,
		Stdout:       os.Stdout,
		Stderr:       os.Stderr,
	})
	if err == nil && code != 0 {
		return &exitError{code: code}
	}
	return err
}

// teller writes to standard error what kopf itself does, beside the operator's log.
type teller struct {
	cmd   *cobra.Command
	flags *operatorFlags

	mu   sync.Mutex
	line *progressLine
}

func (t *teller) progress(p devcluster.Progress) {
	// In a log that stays, what takes a second is told by its result.
	brief := p.Phase == devcluster.PhaseStart || p.Phase == devcluster.PhaseConnect
	if t.flags.quiet || brief && !t.line.live {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.inJSON():
		t.line.report(p)
	case p.Phase != devcluster.PhaseReady && t.line.news(p):
		t.write(progressText(p))
	}
}

func (t *teller) endProgress() {
	if t.flags.quiet || t.inJSON() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line.end()
}

func (t *teller) say(verbose bool, text string) {
	if t.flags.quiet || verbose && !t.flags.verbose && !t.flags.debug {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.inJSON() {
		t.line.end()
		text = "kopf: " + text
	}
	t.write(text)
}

// inJSON tells that whoever reads the operator's log expects nothing but JSON.
func (t *teller) inJSON() bool { return t.flags.logFormat == "json" }

// write writes a line, in JSON as the operator does.
func (t *teller) write(text string) {
	if t.inJSON() {
		line, err := json.Marshal(struct {
			Message   string `json:"message"`
			Severity  string `json:"severity"`
			Timestamp string `json:"timestamp"`
		}{text, "info", time.Now().UTC().Format("2006-01-02T15:04:05.000000")})
		if err != nil {
			panic(err) // strings encode
		}
		text = string(line)
	}
	fmt.Fprintln(t.cmd.ErrOrStderr(), text)
}
