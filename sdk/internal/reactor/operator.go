package reactor

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
	"github.com/kopf-dev/kopf/sdk/internal/apiclient"
	"github.com/kopf-dev/kopf/sdk/internal/background"
	"github.com/kopf-dev/kopf/sdk/internal/handler"
	"github.com/kopf-dev/kopf/sdk/internal/logging"
	"github.com/kopf-dev/kopf/sdk/internal/posting"
	"github.com/kopf-dev/kopf/sdk/internal/queueing"
)

// Config is an operator to be run.
type Config struct {
	Registry   *handler.Registry
	Settings   Settings
	Namespaces []string     // patterns; none is the whole cluster
	REST       *rest.Config // the cluster and the credentials
	Logger     *slog.Logger
	Inspector  string     // where to publish the state; empty is nowhere
	Traffic    bool       // log each request to the cluster
	OnReady    func()     // once all objects are being watched
	NewMemo    func() any // what the handlers of an object share
}

// operator is an operator that runs.
type operator struct {
	config   Config
	settings Settings
	session  *apiclient.Session
	client   *apiclient.Client
	logger   *slog.Logger
	reporter *reporter
	memories memories
	queue    *queueing.Queue
	poster   *posting.Poster // nil if nothing is to be posted
	slots    chan struct{}   // of handlers that run; nil if there is no limit
	said     onces
	ensemble *ensemble
	now      func() time.Time

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
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	o := &operator{config: config, settings: config.Settings, now: time.Now, changed: make(chan struct{}, 1)}
	o.background, o.endBackground = context.WithCancel(context.WithoutCancel(ctx))
	defer o.endBackground()
	o.stopping = ctx.Done()
	hub := newHub(config.Inspector, func(in inspect.Intent) inspect.Reply { return o.intent(ctx, stop, in) })
	o.logger = slog.New(teeHandler(config.Logger.Handler(), hub))
	o.reporter = newReporter(hub, config.Registry)
	if err := o.connect(ctx); err != nil {
		return err
	}
	defer o.session.Close()
	o.reporter.operator(func(op *inspect.Operator) {
		op.Identity, op.PID, op.Started = identity(), os.Getpid(), o.now()
		op.State, op.Server, op.Namespaces = inspect.OperatorStarting, config.REST.Host, config.Namespaces
	})

	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stopServing()
	if hub != nil {
		wg.Go(func() {
			if err := inspect.Serve(serving, config.Inspector, hub); err != nil {
				o.logger.Error("The inspector is not available.", "address", config.Inspector, "error", err)
			}
		})
	}
	if o.poster != nil {
		wg.Go(func() { o.poster.Run(serving) })
	}
	err := o.run(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil
	}
	hub.Bye(farewell(err))
	return err
}

func farewell(err error) string {
	if err != nil {
		return err.Error()
	}
	return "stopped"
}

// connect prepares all that the operator is made of.
func (o *operator) connect(ctx context.Context) error {
	var err error
	if o.session, err = apiclient.NewSession(o.config.REST, o.settings.ConnectTimeout); err != nil {
		return fmt.Errorf("the configuration of the cluster: %w", err)
	}
	o.client = apiclient.New(apiclient.Fixed(o.session), apiclient.Options{
		RequestTimeout:    o.settings.RequestTimeout,
		Backoffs:          o.settings.ErrorBackoffs,
		EnforceRetryAfter: o.settings.EnforceRetryAfter,
		Logger:            o.logger.With(logging.NameKey, "kopf.clients"),
		Observe:           o.traffic(),
	})
	o.poster = o.newPoster()
	if o.settings.MaxWorkers > 0 {
		o.slots = make(chan struct{}, o.settings.MaxWorkers)
	}
	o.ensemble = newEnsemble(o)
	o.queue = queueing.New(ctx, queueing.Options{
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
	// Daemons and handlers have their times to end side by side.
	var wg sync.WaitGroup
	wg.Go(func() { o.endAll(background.OperatorExiting, o.settings.ExitTimeout) })
	defer o.stragglers.waits.Wait()
	defer o.endBackground()
	defer wg.Wait()
	var abandoned *queueing.AbandonedError
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
