// Package engine runs an operator. It watches the resources of the registered handlers, detects changes of objects,
// calls the handlers, and patches the objects with the outcomes.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/cycle"
	"github.com/kopf-dev/kopf/sdk/internal/engine/intents"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/peers"
	"github.com/kopf-dev/kopf/sdk/internal/engine/replicas"
	"github.com/kopf-dev/kopf/sdk/internal/engine/serving"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/inspector"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/planning"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

type operator struct {
	config   Config
	settings atomic.Pointer[core.Settings] // replaced after the startup handlers, which may change them
	deps     *core.Deps
	memories memory.Memories

	logins     *Logins // nil if the configuration has REST
	disconnect func()  // closes the connections to the cluster
	intents    *intents.Intents
	pauses     *peers.Pauses
	fail       func(error) // stops the operator with an error

	showRecords func() // publishes where the records of the settings are; nil without an inspector

	backlog *observe.Backlog // keeps events for the metrics until the startup has ended
	metrics *observe.Metrics // nil without a meter
	unused  *observe.UnusedHandlers
	poster  *observe.Poster // nil if no Kubernetes events are posted

	parts          *intents.Parts
	discovery      *serving.Discovery
	detached       *memory.DetachedDaemons
	stopBackground context.CancelFunc
	stopped        atomic.Pointer[time.Time] // time of the stop request; nil before
	changed        core.Wakeup               // wakes up the discovery
}

// Run runs an operator until the context ends, which is not an error.
func Run(ctx context.Context, config Config) error {
	if ctx.Err() != nil {
		return nil // nothing has started, so nothing must be cleaned up
	}
	settings := config.Settings()
	if err := settings.Check(config.Registry); err != nil {
		return err
	}
	indices := core.NewIndices(config.Registry)
	ctx = index.With(ctx, indices) // for all handlers
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	o := newOperator(ctx, config, indices)
	defer o.stopBackground()
	context.AfterFunc(ctx, o.noteStop)
	o.intents.Stop = func() { stop(nil) }
	o.fail = stop
	hub := o.startReporting(ctx)

	// Connections and the inspector are needed until the end, for example to post events.
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer func() { o.disconnect() }()
	defer wg.Wait()
	defer stopServing()
	if hub != nil {
		wg.Go(func() {
			if err := inspector.Serve(serving, config.Inspector, hub); err != nil {
				o.deps.Logger.Error("Cannot serve the inspector; choose another address",
					observe.EventKey, observe.LogEndpointFailed, "address", config.Inspector, "error", err)
			}
		})
	}
	if config.REST == nil {
		o.logins = o.newLogins(serving)
		o.disconnect = o.logins.Close
		config.OnLogins(o.logins)
	}
	err := o.live(ctx, serving, &wg)
	bye := "stopped"
	if err != nil {
		bye = err.Error()
	}
	hub.Bye(bye)
	return err
}

// newOperator returns an operator that stops when the context ends.
func newOperator(ctx context.Context, config Config, indices *index.Indices) *operator {
	o := &operator{
		config: config, changed: core.NewWakeup(), disconnect: func() {},
		backlog: observe.NewBacklog(observe.KindAttemptEnded, observe.KindLoginEnded),
	}
	settings, now := config.Settings(), config.Now
	o.settings.Store(&settings)
	if now == nil {
		now = time.Now
	}
	o.deps = &core.Deps{
		Registry: config.Registry, Settings: &settings, Logger: config.Logger, Now: now, Indices: indices,
		NewMemo: config.NewMemo, State: &core.RunState{}, Leases: &core.LeaseStats{},
		Sink: &observe.Sink{}, Recorders: observe.NewRecorders(now),
	}
	o.deps.Background, o.stopBackground = context.WithCancel(context.WithoutCancel(ctx))
	o.detached = &memory.DetachedDaemons{Background: o.deps.Background, Sink: o.deps.Sink}
	o.pauses = peers.NewPauses(o.deps, o.changed)
	o.intents = intents.New(o.deps, &o.memories, o.pauses)
	o.deps.Retries = core.NewRetries(ctx, func() *slog.Logger { return o.deps.Logger }, o.intents.RetryFailed)
	return o
}

// startReporting subscribes the log lines, the metrics' backlog and the inspector to the sink. It returns the inspector's hub, or nil.
func (o *operator) startReporting(ctx context.Context) *inspector.Hub {
	d := o.deps
	var hub *inspector.Hub
	var inspected *observe.Inspector
	if o.config.Inspector != "" {
		hub = inspector.NewHub(inspector.HubOptions{
			Intents: func(in inspect.Intent) inspect.Reply { return o.intents.Handle(ctx, in) },
			Index: func(query inspector.IndexQuery) (inspect.IndexPage, bool) {
				return observe.IndexPage(d.Indices, query, d.HidesIndex(query.ID))
			},
			Cluster: o.intents,
			Children: func(parent inspect.Ref) inspect.ChildList {
				return o.intents.Parts.Load().Passes.Children(parent, inspected)
			},
		})
		hub.CountRequests(d.Now())
		d.Logger = slog.New(observe.InspectorLogHandler(d.Logger.Handler(), hub))
	}
	d.Sink.Subscribe(observe.NewLogLines(ctx, d.Logger, o.config.Traffic))
	d.Sink.Subscribe(o.backlog)
	d.Sink.Subscribe(observe.NewLongRetries())
	o.unused = observe.NewUnusedHandlers(d.Sink, d.Registry)
	if hub != nil {
		inspected = observe.NewInspector(observe.InspectorOptions{
			Hub: hub, Registry: d.Registry, Indices: d.Indices, Namespaces: o.config.Namespaces, Started: d.Now(),
			Redaction: d.Settings.Redaction, Identity: o.config.Identity,
		})
		o.showRecords = func() {
			inspected.SetRecords(d.Settings.Finalizer, state.RecordFields(d.Settings.DiffBase, d.Settings.Progress))
		}
		o.showRecords()
		d.Sink.Subscribe(inspected)
	}
	return hub
}

// live runs the operator from the startup handlers to the cleanup handlers, which it calls only if the startup succeeded.
func (o *operator) live(ctx, serving context.Context, wg *sync.WaitGroup) error {
	if err := o.startup(ctx); err != nil {
		return unlessStopped(ctx, err)
	}
	err := unlessStopped(ctx, o.work(ctx, serving, wg))
	o.pauses.Become(inspect.OperatorStopping)
	return errors.Join(err, o.cleanup())
}

// startMetrics connects the events since the first startup handler to the meter, which the startup handlers may have set.
func (o *operator) startMetrics() {
	meter := o.deps.Settings.Meter
	if meter == nil {
		o.backlog.HandOver(o.deps.Sink, nil)
		return
	}
	// Some registered logins are unused, and unregistered ones may be used.
	all := slices.DeleteFunc(slices.Clone(o.config.Registry.All()), func(h *handlers.Handler) bool { return h.Family == handlers.Login })
	o.metrics = observe.NewMetrics(meter, append(all, o.config.Logins...))
	o.backlog.HandOver(o.deps.Sink, o.metrics)
}

// unlessStopped returns an error unless it is due to the requested stop. A failed login or election also ends the context.
func unlessStopped(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrLogin), errors.Is(cause, core.ErrElection):
		return cause
	case cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, ctx.Err()) || errors.Is(err, cause)):
		return nil
	}
	return err
}

// work runs the operator between the startup and the cleanup, until the context ends.
func (o *operator) work(ctx, serving context.Context, wg *sync.WaitGroup) error {
	stopEndpoints, err := o.serveEndpoints(ctx)
	defer stopEndpoints()
	if err != nil {
		return err
	}
	if err := o.connect(ctx); err != nil {
		return err
	}
	if o.poster != nil {
		wg.Go(func() { o.poster.Run(kube.InBulk(serving)) })
	}
	if o.metrics != nil {
		defer o.metrics.Begin(o.meterState)()
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	growth := &growth{deps: o.deps, memories: &o.memories, unused: o.unused, raised: map[inspect.AlarmKind]bool{}}
	wg.Go(func() { growth.run(watching) })
	return o.serve(ctx)
}

// serveEndpoints serves the endpoints of the settings until stop is called, also after an error.
func (o *operator) serveEndpoints(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	serving, closeAll := context.WithCancel(context.WithoutCancel(ctx)) // a stopping operator still answers
	var servers sync.WaitGroup
	health, all := &health{operator: o, ctx: ctx}, endpoints{}
	stop = func() {
		cancel()
		closeAll()
		servers.Wait()
		health.wait()
	}
	if err := all.add(o.deps.Settings.Liveness, health); err != nil {
		return stop, fmt.Errorf("liveness: %w", err)
	}
	if meter := o.deps.Settings.Meter; meter != nil {
		if err := all.add(meter.Endpoint()); err != nil {
			return stop, fmt.Errorf("metrics: %w", err)
		}
	}
	return stop, all.serve(serving, &servers, o.deps.Logger)
}

// connect logs in to the cluster, and creates all components that need a connection.
func (o *operator) connect(ctx context.Context) error {
	source, server, err := o.logIn(ctx)
	if err != nil {
		return err
	}
	d := o.deps
	observe.Emit(d.Sink, observe.ClusterConnected{Server: server})
	refused := &refusals{deps: d, alarms: map[refusal]*inspect.Alarm{}}
	d.Client = kube.NewClient(source, kube.ClientOptions{
		RequestTimeout: d.Settings.RequestTimeout, AnswerTimeout: d.Settings.AnswerTimeout,
		Backoffs: d.Settings.ErrorBackoffs, EnforceRetryAfter: d.Settings.EnforceRetryAfter,
		Logger: d.Logger.With(observe.NameKey, "kopf.clients", observe.EventKey, observe.LogAPIRequest),
		Observe: func(call kube.Call) {
			refused.observe(call)
			observe.Emit(d.Sink, observe.RequestEnded{Call: call})
		},
	})
	o.startPosting()
	invoker := call.NewInvoker(d.Now, d.Sink, d.Settings.MaxWorkers)
	parts := new(*o.intents.Parts.Load())
	parts.Streams = serving.NewStreams(d, &o.memories, o.detached, invoker)
	if o.config.NewPasses != nil {
		parts.Passes = o.config.NewPasses(d)
	}
	kept := core.Conditions(core.NoConditions)
	if o.config.NewConditions != nil {
		kept = o.config.NewConditions(d)
	}
	d.Forget = func(key queue.Key) {
		parts.Passes.Forget(key)
		kept.Forget(key)
		if d.Limits != nil {
			d.Limits.Forget(key)
		}
	}
	if o.config.NewLimits != nil {
		d.Limits = o.config.NewLimits(d)
	}
	processor := cycle.NewProcessor(d, &o.memories, o.detached, invoker, parts.Streams, parts.Passes, kept)
	d.Failures = state.FailuresBeside(d.Settings.Progress)
	d.Queue = queue.New(ctx, queue.Options{
		Process: processor.Process, KeepEvents: parts.Streams.KeepsEvents, Settled: o.memories.Settled,
		WorkerLimit: d.Settings.WorkerLimit, ExitTimeout: d.Settings.ExitTimeout,
		Progress: func(c queue.CatchUp) {
			observe.Emit(d.Sink, observe.CatchUpChanged{Handled: c.Handled, Objects: c.Objects})
		},
	})
	if division := d.Settings.Selection.Division; division.Shards > 0 {
		d.Shards = core.NewOwnShards(division, d.Queue, o.changed.Raise)
	}
	if d.Shards != nil || d.Settings.LeaderElection {
		d.Running = new(core.RunningCycles)
	}
	if o.config.NewAdmission != nil && !planning.On() {
		parts.Admission = o.config.NewAdmission(ctx, d, &o.memories, invoker, o.config.Identity, o.config.Inspector != "")
	}
	identity := o.config.Identity
	if d.Running != nil {
		identity = d.Settings.Lease.Name // all replicas are one peer; otherwise, they would pause each other
	}
	parts.Peerings = peers.NewPeerings(d, o.pauses, identity, o.config.Dev, o.memories.NewTerm)
	parts.Peerings.HandOver = o.config.HandOver
	namespaces := serving.NewNamespaces(o.config.Namespaces, o.changed)
	o.discovery = serving.NewDiscovery(d, parts.Streams, parts.Admission, namespaces, parts.Peerings, parts.Passes)
	o.parts = parts
	o.intents.Parts.Store(parts)
	d.Logger.Debug("Discovering the resources of the cluster", observe.EventKey, observe.LogDiscoveryStarted, "server", server)
	return nil
}

// startPosting starts to post Kubernetes events, unless the settings disable it.
func (o *operator) startPosting() {
	d, settings := o.deps, o.deps.Settings.Posting
	if !settings.Disabled {
		o.poster = observe.NewPoster(observe.PosterOptions{
			Client: d.Client, Namespace: o.logins.Namespace(),
			Component: settings.Component, Instance: settings.Instance, NamePrefix: settings.NamePrefix,
			Logger: d.Logger.With(observe.NameKey, "kopf.posting"),
		})
	}
	if !settings.Loggers {
		d.Sink.Subscribe(observe.OutcomeEvents{})
	}
	if dropped := d.Recorders.Start(o.poster, settings.Level); dropped > 0 {
		d.Logger.Warn("Too many Kubernetes events were recorded before the operator could post them; dropping some",
			observe.EventKey, observe.LogEventsDropped, "dropped", dropped)
	}
}

// serve handles objects until the context ends. Then it stops the streams, the handlers, the daemons, and all background work.
func (o *operator) serve(ctx context.Context) error {
	defer o.parts.Peerings.Close() // runs last, because other operators may act from then on
	o.parts.Streams.Ready = o.ready
	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	o.parts.Admission.Start(ctx, fail)
	part, err := (&replicas.Replica{
		Deps: o.deps, Streams: o.parts.Streams, Pauses: o.pauses, NewTerm: o.memories.NewTerm, Fail: o.fail, DefaultNamespace: o.logins.Namespace(),
	}).TakePart(running)
	if err != nil {
		return err
	}
	o.discovery.Joined = part.Joined
	idle := true
	defer func() { part.GiveUp(idle) }()
	err = o.discovery.Run(running)
	if cause := context.Cause(running); ctx.Err() == nil && cause != nil {
		err = cause // error of the webhook server
	}
	if o.logins == nil && apierrors.IsUnauthorized(err) {
		err = fmt.Errorf("%w: %w", ErrLogin, err) // there are no other credentials to try
	}
	d := o.deps
	o.pauses.Become(inspect.OperatorStopping)
	d.State.Exit.Drain()
	part.Leave()
	d.Retries.Stop()
	o.parts.Streams.StopAll()
	o.parts.Passes.Stop()
	defer core.WaitForUsers(&o.parts.Streams.OnReady, d.Settings.ExitTimeout, func() {
		d.Logger.Warn("The OnReady callback ignores that the operator stops; abandoning it", observe.EventKey, observe.LogShutdownAbandoned)
	})
	// Daemons and handlers stop at the same time, so that each has the whole exit timeout.
	var wg sync.WaitGroup
	wg.Go(func() { stopAllDaemons(d, &o.memories, o.detached) })
	defer o.detached.Waiting.Wait()
	defer o.stopBackground()
	wg.Go(func() { o.parts.Admission.Withdraw(context.WithoutCancel(ctx)) })
	defer o.parts.Admission.Stop()
	defer wg.Wait()
	if abandoned, some := errors.AsType[*queue.AbandonedError](d.Queue.Stop()); some {
		idle = false // other replicas must not take over the objects before the leases have expired
		d.Logger.Warn("Some handlers ignore that the operator stops; abandoning them",
			observe.EventKey, observe.LogShutdownAbandoned, "objects", len(abandoned.Keys))
	}
	return err
}

// unready returns why the operator must not replace its predecessor yet. Only webhooks delay that.
func (o *operator) unready() error {
	if len(o.deps.Registry.Admission()) == 0 {
		return nil
	}
	return o.intents.Parts.Load().Admission.Unready()
}

// ready is called once, when all objects are known.
func (o *operator) ready() {
	o.parts.Admission.Indexed()
	o.deps.Logger.Debug("All objects are known; the operator is ready", observe.EventKey, observe.LogOperatorReady)
	o.pauses.Become(inspect.OperatorRunning)
	if o.config.OnReady != nil {
		o.config.OnReady()
	}
}

// noteStop records the time at which the operator is asked to stop. It ends the process if it is still running when the
// forced exit timeout is over, for example because of a handler that does not return. A timeout of zero or less disables it.
func (o *operator) noteStop() {
	o.stopped.Store(new(o.deps.Now()))
	if limit := o.settings.Load().ExitingTimeout; limit > 0 && o.config.Exit != nil { // startup handlers may have changed it
		time.AfterFunc(limit, o.config.Exit)
	}
}

// stopAllDaemons stops the daemons and timers of all objects, and waits for them. It abandons a daemon that runs longer
// than the exit timeout plus its own cancellation backoff and timeout. No daemon may be started afterwards.
func stopAllDaemons(d *core.Deps, memories *memory.Memories, detached *memory.DetachedDaemons) {
	// The order matters, because daemons move from the memories to the detached groups.
	var groups []*daemons.Group
	for _, m := range memories.All() {
		groups = append(groups, m.Group.Load())
	}
	groups = append(groups, detached.Close()...)
	var wg sync.WaitGroup
	for _, group := range groups {
		if len(group.Tasks()) == 0 {
			continue
		}
		wg.Go(func() {
			var longest time.Duration
			for _, task := range group.Tasks() {
				h, none := task.Handler, new(time.Duration)
				longest = max(longest, *cmp.Or(h.CancellationBackoff, none)+*cmp.Or(h.CancellationTimeout, none))
			}
			ctx, cancel := context.WithTimeout(d.Background, d.Settings.ExitTimeout+longest)
			defer cancel()
			group.Wait(ctx, daemons.OperatorExiting)
			for _, task := range group.Tasks() {
				d.Logger.Warn(fmt.Sprintf("%s ignores that the operator stops; abandoning it", task),
					observe.EventKey, observe.LogDaemonAbandoned, "of", task.Live().String())
			}
		})
	}
	wg.Wait()
}
