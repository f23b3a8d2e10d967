package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// Config is an operator to be run.
type Config struct {
	Registry   *handlers.Registry
	Settings   func() Settings // asked again when the startup handlers have changed them
	Namespaces []string        // patterns; none is the whole cluster
	REST       *rest.Config    // the cluster and the credentials; nil if there are logins
	Logins     []*handlers.Handler
	Logger     *slog.Logger
	Inspector  string        // where to publish the state; empty is nowhere
	Traffic    bool          // log each request to the cluster
	OnReady    func()        // once all objects are being watched
	OnLogins   func(*Logins) // told the source of credentials, at the beginning; nil if there is REST
	Memo       any           // what the operator's own handlers share
	NewMemo    func() any    // what the handlers of an object share
	Extra      any           // for the calls of the operator's own handlers
	Exit       func()        // ends the process, if it does not end by itself; optional
}

// operator is an operator that runs.
type operator struct {
	config    Config
	settings  Settings                 // once the startup handlers are done
	valid     atomic.Pointer[Settings] // the same, for those who may come before that
	logins    *Logins                  // nil if the credentials are given
	source    kube.Source
	given     *kube.Given // the credentials that are given; nil if there are logins
	address   string      // of the cluster
	client    *kube.Client
	logger    *slog.Logger
	reporter  *reporter
	reach     reach
	meters    *meters
	memories  memories
	indices   *index.Indices
	queue     *queue.Queue
	poster    *observe.Poster // nil if nothing is to be posted
	early     *early
	slots     chan struct{} // of handlers that run; nil if there is no limit
	readying  beside
	said      onces
	ensemble  *ensemble
	now       func() time.Time
	uncounted []func(*meters) // attempts of the start

	// background is for what goes on beside the objects: it has the values of the context, and
	// ends when all is over.
	background    context.Context
	endBackground context.CancelFunc
	stragglers    stragglers
	stopping      <-chan struct{} // closes when the operator is to end
	ending        atomic.Bool     // no daemon is to be started any more

	paused  atomic.Bool   // nothing is to be handled
	changed chan struct{} // signals to the observer
}

// Run runs an operator until the context ends; that is no error.
func Run(ctx context.Context, config Config) error {
	if ctx.Err() != nil {
		return nil // nothing was begun, and nothing is to be cleaned up
	}
	indices := makeIndices(config.Registry)
	ctx = index.With(ctx, indices) // of all that is called by the operator
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	o := &operator{config: config, now: time.Now, changed: make(chan struct{}, 1), early: &early{}}
	o.indices = indices
	o.settings = config.Settings()
	valid := o.settings // a copy: startup handlers may change the settings while others look
	o.valid.Store(&valid)
	limitExit(ctx, func() time.Duration { return o.valid.Load().ExitingTimeout }, config.Exit)
	o.background, o.endBackground = context.WithCancel(context.WithoutCancel(ctx))
	defer o.endBackground()
	o.stopping = ctx.Done()
	hub := o.newHub(func(in inspect.Intent) inspect.Reply { return o.intent(ctx, func() { stop(nil) }, in) })
	o.logger = slog.New(teeHandler(config.Logger.Handler(), hub))
	o.reporter = newReporter(hub, config.Registry, indices)
	o.reach.reporter = o.reporter
	o.reporter.operator(func(op *inspect.Operator) {
		op.Identity, op.PID, op.Started = identity(), os.Getpid(), o.now()
		op.State, op.Namespaces = inspect.OperatorStarting, config.Namespaces
	})

	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer func() { // events may be posted to the very end
		stopServing()
		wg.Wait()
		o.disconnect()
	}()
	if hub != nil {
		wg.Go(func() {
			if err := inspect.Serve(serving, config.Inspector, hub); err != nil {
				o.logger.Error("The inspector is not available.", "address", config.Inspector, "error", err)
			}
		})
	}
	if config.REST == nil {
		o.logins = o.newLogins(serving, stop)
		config.OnLogins(o.logins)
	}
	err := o.live(ctx, serving, &wg)
	hub.Bye(farewell(err))
	return err
}

// live is the operator's life: from its startup handlers to those of the cleanup, which
// are called only if there was a start.
func (o *operator) live(ctx, serving context.Context, wg *sync.WaitGroup) error {
	if err := o.startup(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	err := unlessStopped(ctx, o.work(ctx, serving, wg))
	o.reporter.operator(func(op *inspect.Operator) { op.State = inspect.OperatorStopping })
	return errors.Join(err, o.cleanup())
}

// unlessStopped tells an error from the end of the context on purpose.
func unlessStopped(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrLogin):
		return cause
	case cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, ctx.Err()) || errors.Is(err, cause)):
		return nil
	}
	return err
}

func farewell(err error) string {
	if err != nil {
		return err.Error()
	}
	return "stopped"
}

// work does what the operator is for, until the context ends.
func (o *operator) work(ctx, serving context.Context, wg *sync.WaitGroup) error {
	stopServing, err := o.serveEndpoints(ctx)
	if err != nil {
		return err
	}
	defer stopServing()
	if err := o.connect(ctx); err != nil {
		return err
	}
	if o.poster != nil {
		wg.Go(func() { o.poster.Run(serving) })
	}
	defer o.meters.begin(o.state)()
	return o.run(ctx)
}

// connect prepares all that the operator is made of.
func (o *operator) connect(ctx context.Context) error {
	session, err := o.enter(ctx)
	if err != nil {
		return err
	}
	o.address = session.Server()
	o.meters = o.metersOf()
	o.reporter.operator(func(op *inspect.Operator) { op.Server = o.address })
	o.client = kube.NewClient(o.source, kube.ClientOptions{
		RequestTimeout:    o.settings.RequestTimeout,
		StreamTimeout:     o.settings.StreamTimeout,
		Backoffs:          o.settings.ErrorBackoffs,
		EnforceRetryAfter: o.settings.EnforceRetryAfter,
		Logger:            o.logger.With(observe.NameKey, "kopf.clients"),
		Observe:           o.requests(),
	})
	o.poster = o.newPoster()
	if dropped := o.early.begin(o.recorderOf()); dropped > 0 {
		o.logger.Warn("There were too many events before the operator could post them: some are dropped.", "dropped", dropped)
	}
	if o.settings.MaxWorkers > 0 {
		o.slots = make(chan struct{}, o.settings.MaxWorkers)
	}
	o.ensemble = newEnsemble(o)
	o.queue = queue.New(ctx, queue.Options{
		Process:     o.process,
		KeepEvents:  o.ensemble.keepsEvents,
		WorkerLimit: o.settings.WorkerLimit,
		ExitTimeout: o.settings.ExitTimeout,
	})
	return nil
}

// run serves until the context ends, and then ends what was begun.
func (o *operator) run(ctx context.Context) error {
	err := o.observe(ctx)
	o.reporter.operator(func(op *inspect.Operator) { op.State = inspect.OperatorStopping })
	o.ending.Store(true)
	o.ensemble.stop()
	defer o.readying.wait(o.settings.ExitTimeout, func() {
		o.logger.Warn("The function that is told that the operator is ready ignores that it stops: it is left alone.")
	})
	// Daemons and handlers have their times to end side by side.
	var wg sync.WaitGroup
	wg.Go(func() { o.endAll(daemons.OperatorExiting, o.settings.ExitTimeout) })
	defer o.stragglers.waits.Wait()
	defer o.endBackground()
	defer wg.Wait()
	var abandoned *queue.AbandonedError
	if stopped := o.queue.Stop(); errors.As(stopped, &abandoned) {
		o.logger.Warn("Some handlers ignore that the operator stops: they are left alone.", "objects", len(abandoned.Keys))
	}
	return err
}

// identity tells this operator from others of the same program.
func identity() string {
	user, host := os.Getenv("USER"), "localhost"
	if name, err := os.Hostname(); err == nil {
		host = name
	}
	if user == "" {
		user = "operator"
	}
	return fmt.Sprintf("%s@%s/%d", strings.ToLower(user), host, os.Getpid())
}
