package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// RunOptions configure [Run].
type RunOptions struct {
	// Dir is the current folder. Patterns name the packages, relative to Dir.
	Dir      string
	Patterns []string

	// Project is the folder of the project, which [RunningOperators] returns.
	Project string

	// Args are the operator's flags, except those for the cluster and the inspector,
	// which Run adds.
	Args []string

	// Inspect is the address at which the operator publishes its state. If it is empty, Run chooses a
	// socket that [RunningOperators] finds.
	Inspect string

	// OpenCluster provides the cluster. It runs concurrently with the build. The caller
	// closes the cluster after Run.
	OpenCluster func(ctx context.Context) (Cluster, error)

	// WayIn opens a tunnel for the admission reviews of an operator with admission handlers. Without it, such an operator
	// must have its own webhook server in its settings.
	WayIn WayIn

	// Connect returns the connection of a built operator to the cluster. The operator finds no kubeconfig other than the
	// Kubeconfig of the result. Connect runs before the operator starts. Defaults to the opened cluster.
	Connect func(ctx context.Context, binary string, cluster Cluster) (Cluster, error)

	// Proxies gives the operator the [ProxyVariables] of this process.
	Proxies bool

	// Apply applies a part of the Manifests, which are files and folders. Reviewed returns the kinds in the manifests for
	// which a built operator has admission handlers; see [StageReviewed]. If Reviewed is nil, there are no such kinds.
	Apply     func(ctx context.Context, paths []string, part settlement.Part) ([]settlement.Applied, error)
	Reviewed  func(ctx context.Context, binary string, paths []string) ([]string, error)
	Manifests []string

	// UntilSettled stops the operator when all applied objects are handled, when a handler
	// has failed permanently, or when Timeout has passed since the operator's start. Timeout also limits how long the
	// operator may take until it reviews objects.
	UntilSettled bool
	Timeout      time.Duration // no limit if 0

	// Report is the path of a JUnit report with the outcomes of the handlers; if it is empty, Run writes no report. If the
	// run ends for a reason other than UntilSettled, such as a failed build, a crash or a signal, the report has a failed
	// case with the reason. Run removes an old report when it starts.
	Report string

	// Signals delivers the signals that this process receives. They are forwarded to the
	// operator; before the operator has started, they cancel Run.
	Signals <-chan os.Signal

	// Progress is called with lines about the progress for people. Verbose lines are details. Several goroutines can call it
	// concurrently. Required.
	Progress func(verbose bool, line string)

	// Stdout and Stderr are passed to the operator.
	Stdout, Stderr *os.File
}

// Run builds an operator and runs it until it exits, without a screen. It returns the
// operator's exit code. The error is nil if the operator has already printed the reason
// for its exit.
func Run(ctx context.Context, opts RunOptions) (code int, err error) {
	r := &headless{RunOptions: opts, began: time.Now()}
	if opts.Report == "" {
		return r.run(ctx)
	}
	if err := settlement.RemoveReport(opts.Report); err != nil {
		return 1, err
	}
	code, err = r.run(ctx)
	if failed := settlement.WriteReport(opts.Report, r.report(code, err)); failed != nil {
		return max(code, 1), errors.Join(err, failed)
	}
	return code, err
}

// headless is the state of one [Run].
type headless struct {
	RunOptions
	builder *Builder
	binary  string
	cluster Cluster
	way     Webhooks // state of the tunnel; set when the tunnel is open
	applied []settlement.Applied
	waiting []string              // kinds of the objects that are applied when the operator is ready to review them
	whole   bool                  // all objects are applied, including the waiting objects
	began   time.Time             // start of the operator; before that, of Run
	last    settlement.Settlement // last result, with UntilSettled

	interrupted bool // a signal was forwarded to the operator
}

func (r *headless) run(ctx context.Context) (code int, err error) {
	if r.builder, err = NewBuilder(); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, r.builder.Close()) }()
	if err := r.prepare(ctx); err != nil {
		if interrupted, ok := errors.AsType[*InterruptError](err); ok {
			return interrupted.ExitCode(), err
		}
		return 1, err
	}
	return r.operate(ctx)
}

// report returns the report about a run with these results.
func (r *headless) report(code int, err error) settlement.JUnitSuites {
	result := r.last
	_, unsettled := errors.AsType[*settlement.SettleError](err)
	switch {
	case unsettled: // the cases of the objects contain the reasons
	case err != nil:
		result.Failed = append(slices.Clip(result.Failed), settlement.Unsettled{What: err.Error()})
	case code != 0:
		result.Failed = append(slices.Clip(result.Failed), settlement.Unsettled{What: fmt.Sprintf("the operator exited with code %d; its output says why", code)})
	}
	return result.JUnit(r.began, time.Since(r.began), strings.Join(r.Patterns, " "))
}

// prepare builds the operator while the cluster starts. The first error cancels both, so
// that a compile error is reported at once and not after minutes of building a control plane.
func (r *headless) prepare(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var both sync.WaitGroup
	try := func(f func(context.Context) error) {
		both.Go(func() {
			if err := f(ctx); err != nil {
				cancel(err)
			}
		})
	}
	try(r.build)
	try(r.open)
	done := make(chan struct{})
	go func() {
		defer close(done)
		both.Wait()
		if ctx.Err() != nil {
			return
		}
		if err := r.connect(ctx); err != nil {
			cancel(err)
		}
	}()
	for {
		select {
		case s := <-r.Signals:
			cancel(&InterruptError{Signal: s})
		case <-done:
			return context.Cause(ctx)
		}
	}
}

// slowBuild is the time after which a running build is explained.
const slowBuild = 3 * time.Second

func (r *headless) build(ctx context.Context) error {
	p, err := Load(ctx, r.Dir, r.Patterns)
	if err != nil {
		return err
	}
	started := time.Now()
	slow := time.AfterFunc(slowBuild, func() {
		r.Progress(false, "building the operator; the first build also compiles its dependencies")
	})
	defer slow.Stop()
	if r.binary, err = r.builder.Build(ctx, p); err != nil {
		return err
	}
	r.Progress(true, fmt.Sprintf("built in %s", time.Since(started).Round(10*time.Millisecond)))
	return nil
}

func (r *headless) open(ctx context.Context) error {
	var err error
	if r.cluster, err = r.OpenCluster(ctx); err != nil {
		return err
	}
	return r.apply(ctx, settlement.Part{Stage: settlement.StageSetup})
}

// connect connects the built operator to the cluster, and applies the objects that it may need at its start.
func (r *headless) connect(ctx context.Context) (err error) {
	if r.Connect != nil {
		if r.cluster, err = r.Connect(ctx, r.binary, r.cluster); err != nil {
			return err
		}
	}
	if len(r.Manifests) > 0 && r.Reviewed != nil {
		if r.waiting, err = r.Reviewed(ctx, r.binary, r.Manifests); err != nil {
			return err
		}
	}
	return r.apply(ctx, settlement.Part{Stage: settlement.StageUnreviewed, Reviewed: r.waiting})
}

// apply applies a part of the manifests. After the last part, it reports the results of all parts.
func (r *headless) apply(ctx context.Context, part settlement.Part) error {
	if len(r.Manifests) == 0 {
		return nil
	}
	applied, err := r.Apply(ctx, r.Manifests, part)
	r.applied = append(r.applied, applied...)
	for _, o := range applied {
		r.Progress(true, o.String())
	}
	if err != nil {
		return err
	}
	switch waits := len(part.Reviewed) > 0; {
	case part.Stage == settlement.StageUnreviewed && waits:
		r.Progress(true, "applied when the operator is ready, because it reviews them: "+strings.Join(part.Reviewed, ", "))
	case part.Stage != settlement.StageSetup:
		r.Progress(false, settlement.NewApplication(r.applied, nil).String())
	}
	return nil
}

// operate starts the operator and waits until it exits. If the operator exits to request a tunnel, operate opens the tunnel
// and starts the operator again.
func (r *headless) operate(ctx context.Context) (code int, err error) {
	sockets, err := newSocketDir(r.builder.work.Path, r.Project)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, sockets.remove()) }()
	address := r.Inspect
	if address == "" {
		address = sockets.next()
	}
	code, err = r.supervise(ctx, address, nil)
	if r.WayIn == nil || err != nil || r.interrupted {
		return code, err
	}
	if asked, err := askedForWayIn(exitNote(r.binary)); !asked || err != nil {
		return code, err
	}
	if err := r.openWayIn(ctx); err != nil {
		return exitCodeOf(err), err
	}
	reviews := sockets.nextPath()
	r.WayIn.Pass(reviews)
	defer r.WayIn.Hold()
	return r.supervise(ctx, address, r.WayIn.Args(reviews))
}

// supervise starts the operator with additional flags, and waits until it exits.
func (r *headless) supervise(ctx context.Context, address string, flags []string) (code int, err error) {
	args := slices.Concat(r.cluster.args(), []string{"--inspect=" + address}, flags, r.Args)
	spec := childSpec{
		path: r.binary, args: args, dir: r.Dir, kubeconfig: r.cluster.Kubeconfig, proxies: r.Proxies, stdout: r.Stdout, stderr: r.Stderr,
		note: exitNote(r.binary), asksWayIn: r.WayIn != nil,
	}
	if !r.UntilSettled && len(r.waiting) == 0 {
		c, err := start(spec)
		if err != nil {
			return 1, err
		}
		return r.wait(ctx, c, nil)
	}
	client, err := inspect.Dial(address)
	if err != nil {
		return 1, err
	}
	c, err := start(spec)
	if err != nil {
		return 1, err
	}
	watching, stop := context.WithCancel(ctx)
	settled := make(chan error, 1)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		var err error
		r.last, err = r.settle(watching, client, address, c.pid())
		if r.UntilSettled || err != nil {
			settled <- err
		}
	})
	r.began = time.Now()
	code, err = r.wait(ctx, c, settled)
	stop()
	watcher.Wait()
	if err == nil && code == 0 && !r.interrupted && !r.whole {
		return 1, fmt.Errorf("the operator exited before the objects that it reviews were applied: %s", strings.Join(r.waiting, ", "))
	}
	if r.UntilSettled && err == nil && code == 0 {
		r.Progress(false, r.last.Summary())
	}
	return code, err
}

// wait forwards signals until the operator exits. It stops the operator when settled
// delivers a result, when the cluster ends, or when the context is cancelled.
func (r *headless) wait(ctx context.Context, c *child, settled <-chan error) (int, error) {
	var interrupted *InterruptError
	for {
		select {
		case s := <-r.Signals:
			if interrupted != nil {
				c.kill() // a second signal ends the operator at once
				continue
			}
			interrupted, r.interrupted = &InterruptError{Signal: s}, true
			if s == syscall.SIGHUP {
				s = syscall.SIGTERM // operators do not handle SIGHUP
			}
			c.signal(s)
		case err := <-settled:
			if interrupted == nil && ctx.Err() == nil {
				c.stop(defaultGrace)
				return exitCodeOf(err), err
			}
			settled = nil
		case w := <-r.wayChanges():
			r.handleWayChange(w)
		case <-r.cluster.Ended:
			c.stop(defaultGrace)
			return 1, &ClusterEndedError{Name: r.cluster.Name}
		case <-ctx.Done():
			c.stop(defaultGrace)
			return 1, context.Cause(ctx)
		case <-c.done:
			return r.result(c, interrupted, settled != nil)
		}
	}
}

// result turns the operator's exit into the result of [Run]. An exit after a signal is a
// success, unless the objects had to settle first.
func (r *headless) result(c *child, interrupted *InterruptError, unsettled bool) (int, error) {
	code := c.exitCode()
	if interrupted == nil {
		switch why, err := explainExit(exitNote(r.binary), code, c.killedBy()); {
		case err != nil:
			return max(code, 1), err
		case why != "":
			r.Progress(false, why)
		}
	}
	switch {
	case interrupted != nil && (r.UntilSettled || c.killedBy() != 0):
		return interrupted.ExitCode(), interrupted
	case interrupted == nil && r.UntilSettled && unsettled && code == 0:
		return 1, errors.New("the operator exited before the objects had settled")
	}
	return code, nil // the operator has printed the reason
}

func exitCodeOf(err error) int {
	if err != nil {
		return 1
	}
	return 0
}
