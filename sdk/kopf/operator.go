package kopf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/engine"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/peering"
)

// Operator runs handlers as a part of a program. Programs that only run an operator use [Main]. The fields must not be
// changed while the operator runs. A program can have any number of operators, and they can share a Registry. See
// [Embedding].
//
// [Embedding]: https://github.com/kopf-dev/kopf/blob/main/docs/embedding.md
type Operator struct {
	Registry *Registry
	Settings Settings

	// Namespaces are the names or patterns of the namespaces to serve, such as "myapp-*,!*-pr-*". An empty name is an
	// error. Either Namespaces or AllNamespaces is required.
	Namespaces []string

	// AllNamespaces serves the whole cluster. It cannot be combined with Namespaces. Defaults to false.
	AllNamespaces bool

	// Config is the connection to the cluster, instead of login handlers. If it is nil and there are no login handlers, the
	// operator uses the service account of its pod; outside of a pod, $KUBECONFIG or ~/.kube/config.
	Config *rest.Config

	// Identity is the name of the operator among its peers; it must be unique. Defaults to $POD_ID or, without it, to a
	// name with the user, the host and the start time. See [PeeringSettings].
	Identity string

	// Memo is the operator's memo, from which the memos of objects inherit. Fill it with [MemoOf]
	// before Run.
	Memo Memo

	// Logger is the destination of all logs. Defaults to [slog.Default]. Package
	// [github.com/kopf-dev/kopf/sdk/kopf/logging] has the formats of "kopf run".
	Logger *slog.Logger

	// OnReady is called once in each run, when all objects are being watched and all indices are complete. It runs in its
	// own goroutine. When the operator stops, Run waits for OnReady up to [QueueingSettings].ExitTimeout, then abandons it
	// with a warning. May be nil.
	OnReady func()

	running             atomic.Bool
	dev                 bool             // takes precedence over deployed operators
	private             bool             // a private cluster, where a missing peering object causes no warning in development
	keepPriority        bool             // keep the priority even in development
	handOver            func() bool      // reports whether the next process of a session takes over the peering record; may be nil
	traffic             bool             // log each request to the API server
	exit                func()           // ends a process that does not end in time; nil in programs without [Main]
	kubeconfig, context string           // path and context of a kubeconfig that replaces the login handlers; may be empty
	admission           admissionFlags   // flags that replace admission settings
	now                 func() time.Time // replaces the clock, for package kopftest
	settled             func(Settings)   // receives the settings after the startup handlers, for package kopftest
}

// Run runs the operator until the context is cancelled or an error makes it impossible to continue. When the context
// is cancelled, it waits for running handlers up to [QueueingSettings].ExitTimeout, calls the cleanup handlers, and returns
// nil. The context of cleanup handlers ends [ProcessSettings].ForcedExitTimeout after the context of Run. Run abandons
// cleanup handlers that ignore the end for longer than the ExitTimeout. Run does not handle signals of the system.
//
// If handler registrations are invalid, the error wraps [ErrRegistration] and lists all of them. If the cluster accepts no
// credentials, the error wraps [ErrLogin]. If the cluster cannot reach the admission handlers, it wraps [ErrNoWayIn]. Run
// also returns errors of the network, of the API server, and of startup and cleanup handlers that failed permanently.
//
// An operator can be run again, with the same memo, after Run has returned.
func (o *Operator) Run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	if !o.running.CompareAndSwap(false, true) {
		return errRunning
	}
	defer o.running.Store(false)
	settings := o.settings() // startup handlers may change this copy, for this run
	config := o.config(&settings)
	if asked, err := describeIfAsked(config); asked {
		return err
	}
	if o.Config != nil {
		return engine.Run(kube.WithConfig(ctx, o.Config), config)
	}
	var logins *engine.Logins
	o.warnOfUncalledLogins(config.Logger)
	config.Logins = o.logins()
	config.OnLogins = func(l *engine.Logins) { logins = l }
	return engine.Run(kube.WithConfigFunc(ctx, func() *rest.Config { return logins.RESTConfig() }), config)
}

// settings returns the settings at the start of a run.
func (o *Operator) settings() Settings {
	s := o.Settings
	if prefix := o.Registry.Prefix; prefix != "" {
		s.Persistence.Finalizer = cmp.Or(s.Persistence.Finalizer, prefix+"/finalizer")
	}
	return s.withDefaults()
}

// config returns the configuration of a run without the logins. Startup handlers may change the settings.
func (o *Operator) config(settings *Settings) engine.Config {
	logger := o.Logger
	if logger == nil {
		logger = slog.Default()
	}
	return engine.Config{
		Registry: &o.Registry.registry,
		Settings: func() core.Settings {
			s := o.inDevelopment(*settings).engine(o.Registry.Prefix)
			s.Admission = o.admission.override(settings.Admission, o.Registry.listener).engine(o.admission.session, o.Registry.listener)
			s.Admission.Confined = o.admission.underTest != ""
			if s.Meter != nil && o.admission.underTest != "" {
				s.Meter = onAnyPort{s.Meter}
			}
			if o.settled != nil {
				o.settled(*settings)
			}
			return s
		},
		Dev:        o.dev && !o.private,
		HandOver:   o.handOver,
		Namespaces: o.Namespaces,
		REST:       o.Config,
		Logger:     logger,
		Identity:   o.identity(),
		Inspector:  o.Settings.Process.Inspector,
		Traffic:    o.traffic,
		OnReady:    o.OnReady,
		Memo:       &o.Memo,
		NewMemo:    func() any { return o.Memo.child() },
		Extra:      settings,
		Exit:       o.exit,

		NewPasses: o.Registry.passes, NewConditions: o.Registry.conditions, NewLimits: o.Registry.limits, NewAdmission: o.Registry.admission,

		Now: o.now,
	}
}

// identity returns the name in the peering.
func (o *Operator) identity() string {
	if o.Identity != "" {
		return o.Identity
	}
	return peering.NewIdentity() // may ask for the name of the host
}

// devLifetime is the lifetime of a peering record in development.
const devLifetime = 10 * time.Second

// inDevelopment returns the settings for an operator in development: a lifetime of at most devLifetime and, unless a flag
// sets the priority, a priority of at least [peering.DevPriority]. It applies after the startup handlers, because they set
// the priority of the deployed operator.
func (o *Operator) inDevelopment(s Settings) Settings {
	if !o.dev {
		return s
	}
	s.Peering.Lifetime = min(s.Peering.Lifetime, devLifetime)
	if !o.keepPriority {
		s.Peering.Priority = max(s.Peering.Priority, peering.DevPriority)
	}
	return s
}

// errRunning is the error of a second concurrent run.
var errRunning = errors.New("run operator: it is running already; to run several at a time, create another Operator")

// check returns the errors in the operator's fields and registry, before it connects to the cluster.
func (o *Operator) check() error {
	if o.Registry == nil {
		return fmt.Errorf("%w: the Registry is not set; make one and register handlers in it", ErrRegistration)
	}
	if err := o.Registry.Err(); err != nil {
		return fmt.Errorf("%w:\n%w", ErrRegistration, err)
	}
	switch {
	case len(o.Namespaces) == 0 && !o.AllNamespaces:
		return errors.New("run operator: there is no namespace to serve; name some in Namespaces, or set AllNamespaces")
	case len(o.Namespaces) > 0 && o.AllNamespaces:
		return errors.New("run operator: AllNamespaces excludes Namespaces; set one or the other")
	}
	if err := o.Settings.Redaction.check(); err != nil {
		return err
	}
	return checkNamespaces(o.Namespaces)
}

// checkNamespaces returns an error for an empty name, which the API server interprets as all namespaces. Usually, it comes
// from a variable without a value.
func checkNamespaces(patterns []string) error {
	for _, pattern := range patterns {
		if strings.TrimSpace(pattern) == "" {
			return errors.New("a namespace to serve has an empty name; name it, or set AllNamespaces to serve the whole cluster")
		}
	}
	return nil
}

// RESTConfig returns a copy of the operator's configuration for any Kubernetes client. The client uses the operator's
// current credentials: create it once and keep it. The credentials are in the configuration's transport rather than in
// its fields, unless they come from [Operator].Config. See [Other clients].
//
// The context must be the context of a handler, or derived from it; any other context causes a panic. In a startup
// handler, the first request of a client triggers the login.
//
// [Other clients]: https://github.com/kopf-dev/kopf/blob/main/docs/activities.md#other-clients
func RESTConfig(ctx context.Context) *rest.Config {
	config := kube.ConfigFrom(ctx)
	if config == nil {
		panic("kopf.RESTConfig: the context belongs to no operator; pass the context of the handler")
	}
	return rest.CopyConfig(config)
}
