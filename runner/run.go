package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// RunOptions are what [Run] works with.
type RunOptions struct {
	// Dir is the current folder, and Patterns the packages as seen from there.
	Dir      string
	Patterns []string

	// Args are the flags of the operator, but for those of the cluster and the inspector.
	Args []string

	// Inspect is where the operator is to publish its state. The zero value is nowhere, or
	// wherever that is of use here.
	Inspect string

	// OpenCluster provides the cluster. It runs beside the build. Closing the cluster,
	// if need be, is the caller's matter.
	OpenCluster func(ctx context.Context) (Cluster, error)

	// Apply applies the Manifests, files and folders, before the operator starts.
	Apply     func(ctx context.Context, paths []string) ([]Applied, error)
	Manifests []string

	// UntilSettled ends the operator when everything that was applied is handled, or
	// cannot be, or when the Timeout is over since the operator was started.
	UntilSettled bool
	Timeout      time.Duration // 0 is no limit

	// Signals are those that this process receives. The operator gets them; while there
	// is none, they end what is being done.
	Signals <-chan os.Signal

	// Say is told what happens, in lines for a person.
	Say func(verbose bool, line string)

	// Stdout and Stderr are the operator's.
	Stdout, Stderr *os.File
}

// Run builds an operator and runs it to its end, without a screen. It returns the
// operator's exit code, and an error for everything that the operator has not said
// itself.
func Run(ctx context.Context, opts RunOptions) (code int, err error) {
	builder, err := NewBuilder()
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, builder.Close()) }()
	r := &headless{RunOptions: opts, builder: builder}
	if err := r.prepare(ctx); err != nil {
		if interrupted, ok := errors.AsType[*InterruptError](err); ok {
			return interrupted.ExitCode(), err
		}
		return 1, err
	}
	return r.operate(ctx)
}

// headless is a run without a screen.
type headless struct {
	RunOptions
	builder *Builder
	binary  string
	dir     string
	cluster Cluster
	applied []Applied
}

// prepare builds the operator while the cluster comes up. The first error ends both: a
// mistyped handler is not to be told after minutes of compiling a control plane.
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
		both.Wait()
		close(done)
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

// slowBuild is when it must be said why nothing seems to happen.
const slowBuild = 3 * time.Second

func (r *headless) build(ctx context.Context) error {
	p, err := Load(ctx, r.Dir, r.Patterns)
	if err != nil {
		return err
	}
	started := time.Now()
	slow := time.AfterFunc(slowBuild, func() {
		r.Say(false, "building the operator; the first time, all that it depends on is compiled, too")
	})
	defer slow.Stop()
	if r.binary, err = r.builder.Build(ctx, p); err != nil {
		return err
	}
	r.dir = p.Dir
	r.Say(true, fmt.Sprintf("built in %s", time.Since(started).Round(10*time.Millisecond)))
	return nil
}

func (r *headless) open(ctx context.Context) error {
	var err error
	if r.cluster, err = r.OpenCluster(ctx); err != nil {
		return err
	}
	if len(r.Manifests) == 0 {
		return nil
	}
	if r.applied, err = r.Apply(ctx, r.Manifests); err != nil {
		return err
	}
	r.Say(false, fmt.Sprintf("applied %d objects", len(r.applied)))
	return nil
}

// operate runs the operator to its end.
func (r *headless) operate(ctx context.Context) (code int, err error) {
	address := r.Inspect
	if r.UntilSettled && address == "" {
		sockets, err := newSocketDir(r.builder.work.path)
		if err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, sockets.remove()) }()
		address = sockets.next()
	}
	args := r.cluster.args()
	if address != "" {
		args = append(args, "--inspect="+address)
	}
	spec := childSpec{path: r.binary, args: append(args, r.Args...), dir: r.Dir, stdout: r.Stdout, stderr: r.Stderr}
	if !r.UntilSettled {
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
	watcher.Go(func() { settled <- r.settle(watching, client, address, c.pid()) })
	defer watcher.Wait()
	defer stop()
	return r.wait(ctx, c, settled)
}

// wait passes signals on until the operator ends. When the objects have settled, or
// cannot, it stops the operator.
func (r *headless) wait(ctx context.Context, c *child, settled <-chan error) (int, error) {
	var interrupted *InterruptError
	for {
		select {
		case s := <-r.Signals:
			if interrupted != nil {
				c.kill() // once was a wish, twice is an order
				continue
			}
			interrupted = &InterruptError{Signal: s}
			if s == syscall.SIGHUP {
				s = syscall.SIGTERM // operators know nothing of terminals
			}
			c.signal(s)
		case err := <-settled:
			if interrupted == nil && ctx.Err() == nil {
				c.stop(defaultGrace)
				return exitCodeOf(err), err
			}
			settled = nil
		case <-r.cluster.Ended:
			c.stop(defaultGrace)
			return 1, &ClusterEndedError{Name: r.cluster.Name}
		case <-ctx.Done():
			c.stop(defaultGrace)
			return 1, context.Cause(ctx)
		case <-c.done:
			return r.ended(c, interrupted, settled != nil)
		}
	}
}

// ended tells what the end of the operator means. One that has heeded a signal has done well,
// unless it was to settle its objects first.
func (r *headless) ended(c *child, interrupted *InterruptError, unsettled bool) (int, error) {
	code := c.exitCode()
	switch {
	case interrupted != nil && (r.UntilSettled || code > signalled):
		return interrupted.ExitCode(), interrupted
	case interrupted == nil && unsettled && code == 0:
		return 1, errors.New("the operator ended before the objects had settled")
	}
	return code, nil // it has said why
}

func exitCodeOf(err error) int {
	if err != nil {
		return 1
	}
	return 0
}

// settle follows the operator, a process at an address, until the applied objects have
// settled. Whether the operator's end has broken that off is seen by who waits for that end.
func (r *headless) settle(ctx context.Context, client *inspect.Client, address string, pid int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	settling := newSettling(r.applied)
	news := make(chan settlement, 1)
	var replica inspect.Replica
	var last settlement
	tell := func(s settlement) {
		last = s
		select {
		case <-news:
		default:
		}
		news <- last
	}
	var following sync.WaitGroup
	following.Go(func() {
		err := follow(ctx, client, func(m inspect.Message) error {
			if m.Snapshot != nil && m.Snapshot.Operator.PID != pid {
				return &ForeignStateError{Address: address, PID: m.Snapshot.Operator.PID}
			}
			if replica.Apply(m); !m.More {
				tell(settling.check(replica.Snapshot(), time.Now()))
			}
			return nil
		}, func(err error) {
			tell(settlement{Pending: []Unsettled{{What: fmt.Sprintf("the operator's state at %s cannot be read: %v", address, err)}}})
		})
		_, foreign := errors.AsType[*ForeignStateError](err)
		if _, ok := errors.AsType[*inspect.VersionError](err); ok || foreign {
			cancel(err)
		}
	})
	err := awaitSettled(ctx, r.Timeout, news)
	cancel(nil)
	following.Wait()
	for _, a := range last.Unserved {
		r.Say(true, fmt.Sprintf("%s: no handler is for it; it was not waited for", objectName(shortOf(a.Ref), a.Ref)))
	}
	return err
}
