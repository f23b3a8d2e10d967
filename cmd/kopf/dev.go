package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/internal/objects"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/peering"
	"github.com/kopf-dev/kopf/tui"
	"github.com/kopf-dev/kopf/tui/stream"
	"github.com/kopf-dev/kopf/tunnel"
)

func newDevCommand() *cobra.Command {
	f := operatorFlags{dev: true} // a deployed operator gives way
	cmd := &cobra.Command{
		Use:   "dev PACKAGE...",
		Short: "Develop an operator and watch it work",
		Long: `Build and run an operator, rebuild and restart it on every save, and show what it does:
which objects it sees, which handlers run for them, and why, or why not.

In a terminal, this is a full-screen workbench; its help line shows the most important keys,
and ? shows all of them. Otherwise, it prints the same facts as lines of text until the
operator exits or, with --until=settled, until everything is handled. The workbench ignores
--until: it ends when you quit. With --log-format, it prints lines in a terminal, too.

Name packages as for the go command: ./folder, ./folder/..., or an import path.

Without --context or --kubeconfig, the operator uses the development cluster of the project,
which is the module of the current folder. If the cluster is not running (kopf cluster), it is
started, with its former data, and stops with the operator.

` + exitCodes,
		Example: `  # The workbench, with a new cluster and an object to handle
  kopf dev ./handlers --apply crd.yaml --apply example.yaml

  # Handle anew with each change of the code what has failed before
  kopf dev ./handlers --retry-failed

  # The same facts as lines, until the object is handled
  kopf dev ./handlers --apply crd.yaml --apply example.yaml --until=settled | cat`,
		Args:              wantPackages,
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLineFlags(cmd, &f); err != nil {
				return err
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			if err := checkPlanReloads(&f, showsWorkbench(cmd, hasTerminal(cmd))); err != nil {
				return err
			}
			return develop(cmd, &f, args, nil)
		},
	}
	f.add(cmd, "plain", "json")
	f.addReload(cmd)
	cmd.Flags().BoolVar(&f.planReloads, "plan-reloads", false, "plan each saved build before it runs; if objects would change, show which ones, and wait for a key")
	cmd.Flags().Lookup("log-format").Usage = "print lines instead of the workbench: " + anyOf(f.logFormats)
	for _, name := range logLineFlags {
		cmd.Flags().Lookup(name).Hidden = true
	}
	return cmd
}

// logLineFlags are the flags of kopf run for the format of the operator's log lines. kopf dev
// knows them only to say why it has none of them.
var logLineFlags = []string{"log-prefix", "no-log-prefix", "log-refkey"}

// checkLineFlags rejects what only the operator's own log can do.
func checkLineFlags(cmd *cobra.Command, f *operatorFlags) error {
	for _, name := range logLineFlags {
		if cmd.Flags().Changed(name) {
			return usagef("--%s is about the operator's own log, which kopf run prints; the lines of kopf dev always name the object", name)
		}
	}
	if f.logFormat == "full" || f.logFormat == "none" {
		return usagef("--log-format=%s is a format of the operator's own log, which kopf run prints; kopf dev prints lines of its own: %s", f.logFormat, anyOf(f.logFormats))
	}
	return nil
}

// showsWorkbench reports whether kopf dev shows the workbench rather than lines.
func showsWorkbench(cmd *cobra.Command, terminal bool) bool {
	return terminal && !cmd.Flags().Changed("log-format")
}

// hasTerminal reports whether a command has a terminal that can show the workbench.
func hasTerminal(cmd *cobra.Command) bool {
	return isTerminal(os.Stdin) && isTerminal(cmd.OutOrStdout()) && os.Getenv("TERM") != "dumb"
}

// develop runs a development session until it is over. The function serve shows it to its user, who may act on errors,
// until the function returns; nil is for the workbench, or for lines without a terminal.
func develop(cmd *cobra.Command, f *operatorFlags, patterns []string, serve func(context.Context, *runner.Session) error) (err error) {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current folder: %w", err)
	}
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	screen := showsWorkbench(cmd, hasTerminal(cmd))
	f.dev = f.dev && !f.standalone
	if f.dev {
		f.identity = cmp.Or(f.identity, peering.NewIdentity())
	}
	level := ""
	if f.verbose || f.debug {
		level = "debug"
	}

	var cluster operatorCluster
	defer func() {
		stopErr := cluster.close(ctx)
		if remains := cluster.remainsStored(); screen && stopErr == nil && remains != "" {
			fmt.Fprintln(cmd.OutOrStdout(), remains)
		}
		err = errors.Join(err, stopErr)
	}()
	if f.dev {
		// Between two builds, the record of the operator stays: the deployed operator does not resume for a moment.
		if err := os.Setenv(handOverVariable, "1"); err != nil {
			return err
		}
		if !f.isShared() {
			if err := os.Setenv(privateVariable, "1"); err != nil {
				return err
			}
		}
		defer func() { cluster.leavePeering(ctx, f, cmd.ErrOrStderr()) }()
	}
	var session *runner.Session
	way := newWayIn(&cluster, &f.webhooks, func(verbose bool, line string) { session.Say(verbose, line) })
	defer func() { err = errors.Join(err, way.close(ctx)) }()
	deployed := newAsDeployed(cmd, f, dir, patterns, &cluster, func(text string) { session.Fault(text) })
	defer func() { err = errors.Join(err, deployed.close(ctx)) }()
	definer := &definer{dir: dir, patterns: patterns, cluster: &cluster, warn: func(warnings []string) { session.WarnAboutBuild(warnings) }}
	reviewer := &reviewer{dir: dir, args: f.scope(cmd), cluster: &cluster}
	options := runner.Options{
		Dir:      dir,
		Patterns: patterns,
		Project:  devcluster.ProjectOf(dir),
		Args:     append(f.scope(cmd), f.levels()...),
		OpenCluster: func(ctx context.Context, report func(runner.Cluster)) (runner.Cluster, error) {
			opened, err := cluster.open(ctx, f.options(func(p devcluster.Progress) {
				if p.Phase != devcluster.PhaseReady { // the result follows, with more details
					report(progressOf(p))
				}
			}))
			if err == nil {
				if kept := f.keptProxies(); kept != "" {
					session.Say(false, kept)
				}
				cluster.cleanUpBefore(ctx, session.Say)
				if f.crd {
					definer.define(ctx)
				}
			}
			return opened, err
		},
		Connect:         deployed.connector(&cluster),
		Proxies:         f.proxy,
		Apply:           cluster.apply,
		Reviewed:        reviewer.reviewed,
		Objects:         &objects.Client{Config: cluster.restConfig, Namespace: cluster.namespace},
		Manifests:       f.manifests,
		ManifestFolders: packageFolders(dir, patterns),
		LogLevel:        level,
		RetryFailed:     f.retryFailed,
		Reapplies:       isProvided,
		NoReload:        f.noReload,
		Hold:            f.planReloads,

		Unattended: !screen && serve == nil,
		Once:       !screen && serve == nil && f.until == settled,
	}
	if f.crd {
		options.Define = definer.define
	}
	if f.webhooks.way != tunnel.Off {
		options.WayIn = way
	}
	session = runner.NewSession(options)
	stopListening := killOnSignal(ctx, session)
	defer stopListening()
	ended := make(chan error, 1)
	go func() {
		err := session.Run(ctx)
		cancel(err) // the session has ended
		ended <- err
	}()
	slow := time.AfterFunc(slowStop, func() {
		fmt.Fprintln(cmd.ErrOrStderr(), "kopf: the operator is stopping; ctrl+c ends it at once")
	})
	slow.Stop()
	stop := func() {
		cancel(nil)
		slow.Reset(slowStop)
	}
	if serve != nil {
		err = serve(ctx, session)
	} else if screen {
		planner := devPlanner{session: session, flags: f, patterns: patterns}
		err = libraries.hideWhile(func() error {
			return tui.Run(ctx, session, tui.Options{
				Plan:         planner.plan,
				Ended:        stop,
				Title:        strings.Join(patterns, " "),
				ClusterStays: f.isShared(),
				Layout:       layoutFile(),
				Stays:        func(*runner.State) []string { return cluster.remainsRunning() },
				Uninstall:    func() []string { return cluster.uninstallLines(f, patterns) },
			})
		})
		err = errors.Join(err, planner.leftovers())
	} else {
		err = streamUntil(ctx, cmd.OutOrStdout(), session, f)
	}
	stop()
	err = errors.Join(err, <-ended, interruption(cmd.Context()))
	slow.Stop()
	missing := deployed.report(cmd.ErrOrStderr())
	return cmp.Or(err, missing)
}

// isProvided reports whether a cluster is one that kopf provides to develop with.
func isProvided(c runner.Cluster) bool {
	return c.Provider == devcluster.Embedded || c.Provider == devcluster.K3d
}

// addReload adds the flags of sessions that rebuild the operator.
func (f *operatorFlags) addReload(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.retryFailed, "retry-failed", false, "retry permanently failed handlers, at the start and after each change of the code")
	cmd.Flags().BoolVar(&f.crd, "crd", false, "make the definitions of the resources from the Go types, and apply them, at the start and with each build: see kopf crd")
	cmd.Flags().BoolVar(&f.noReload, "no-reload", false, "build and apply only on demand, not when a file is saved")
}

// slowStop is the time after which a running stop is explained.
const slowStop = time.Second

// killOnSignal kills the operator if a signal arrives while it is stopping.
func killOnSignal(ctx context.Context, session *runner.Session) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endSignals()...)
	done := make(chan struct{})
	next := func() bool {
		select {
		case <-signals:
			return true
		case <-done:
			return false
		}
	}
	go func() {
		select {
		case <-ctx.Done():
		case <-done:
			return
		}
		if interruption(ctx) != nil && !next() {
			return // the first signal is the one that started the stop
		}
		if next() {
			session.Kill()
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// streamUntil prints what happens until the session ends or, with --until=settled, until
// everything is handled.
func streamUntil(ctx context.Context, w io.Writer, session *runner.Session, f *operatorFlags) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result := make(chan error, 1)
	if f.until == settled {
		go func() {
			err := session.Settled(ctx, f.timeout)
			if errors.Is(err, context.Canceled) || ctx.Err() != nil {
				err = nil // the session reports the reason
			}
			result <- err
			cancel()
		}()
	} else {
		go func() {
			sayProgress(ctx, session)
			result <- nil
		}()
	}
	format := stream.Plain
	if f.logFormat == "json" {
		format = stream.JSON
	}
	err := stream.Run(ctx, session, w, stream.Options{
		Format:  format,
		Colour:  isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		Quiet:   f.quiet,
		Verbose: f.verbose || f.debug,
	})
	cancel()
	return errors.Join(err, <-result)
}

// patience is the time after which a session without a screen says why it is not settled.
const patience = 15 * time.Second

// sayProgress says once that everything is settled, or why not, because the session continues: readers of a pipe cannot see
// whether something is left.
func sayProgress(ctx context.Context, session *runner.Session) {
	err := session.Settled(ctx, patience)
	if late, ok := errors.AsType[*settlement.SettleError](err); ok && late.Timeout > 0 && ctx.Err() == nil {
		session.Say(false, "waiting: "+oneLine(late))
		err = session.Settled(ctx, 0)
	}
	failed, ok := errors.AsType[*settlement.SettleError](err)
	switch {
	case ctx.Err() != nil:
	case err == nil:
		session.Say(false, "everything is settled; waiting for changes until ctrl+c (--until=settled ends the command here)")
	case ok:
		session.Say(false, oneLine(failed)+"; waiting for changes until ctrl+c")
	}
}

// oneLine returns the text of an error in one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// interruption returns the signal that has ended the command, or nil.
func interruption(ctx context.Context) error {
	if interrupted, ok := errors.AsType[*runner.InterruptError](context.Cause(ctx)); ok {
		return interrupted
	}
	return nil
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// packageFolders returns the folders of the packages that exist.
func packageFolders(dir string, patterns []string) []string {
	var folders []string
	for _, pattern := range patterns {
		folder, _, _ := strings.Cut(pattern, "...")
		path := filepath.Clean(folder)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() && !slices.Contains(folders, path) {
			folders = append(folders, path)
		}
	}
	return folders
}
