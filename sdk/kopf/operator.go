package kopf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/engine"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

// An Operator is for programs that do more than operate; others have [Main]. Set the
// fields, then Run; do not change them while it runs. There can be any number of operators
// in a program, and they may share a Registry. See the chapter "Embedding" of Kopf's
// documentation.
type Operator struct {
	Registry *Registry
	Settings Settings

	// Namespaces are the names or patterns of the namespaces to serve, such as
	// "myapp-*,!*-pr-*". With none, the whole cluster is served. An empty name is a mistake.
	Namespaces []string

	// Config is the cluster to use instead of the login handlers; if there are none of
	// these either, the operator uses the service account of its pod, or else $KUBECONFIG
	// or ~/.kube/config.
	Config *rest.Config

	// Memo is what all handlers share, to be filled with [MemoOf] before Run.
	Memo Memo

	// Logger is where to log; slog.Default() if nil. See [NewLogHandler].
	Logger *slog.Logger

	// OnReady, if it is set, is called once all objects are being watched and all indices
	// are complete: once in each run, beside the handlers. It is not called after Run has
	// returned, and Run waits for it as for a handler.
	OnReady func()

	running             atomic.Bool
	traffic             bool   // log each request to the cluster
	exit                func() // ends the process that does not end by itself; nil if that is not ours to do
	kubeconfig, context string // instead of the login handlers
}

// Run runs the operator until the context is cancelled, then lets the running handlers
// finish for [Settings.Queueing].ExitTimeout, calls the cleanup handlers and returns nil; or
// until an error that makes it impossible to go on. It heeds no signals of the system.
//
// [ErrRegistration] is in the error if there are mistakes in the registrations, all of them
// reported at once; [ErrLogin] if the cluster lets nobody in. The errors of startup and
// cleanup handlers that have failed for good, of the network and of the cluster are in it,
// too: see [errors.Is] and [errors.As].
//
// An operator can be run again, with the same memo, but not twice at the same time.
func (o *Operator) Run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	if !o.running.CompareAndSwap(false, true) {
		return errRunning
	}
	defer o.running.Store(false)
	logger := o.Logger
	if logger == nil {
		logger = slog.Default()
	}
	settings := o.Settings.filled() // the startup handlers may change them, for this run
	config := engine.Config{
		Registry:   &o.Registry.registry,
		Settings:   func() engine.Settings { return settings.engine() },
		Namespaces: o.Namespaces,
		REST:       o.Config,
		Logger:     logger,
		Inspector:  o.Settings.Process.Inspector,
		Traffic:    o.traffic,
		OnReady:    o.OnReady,
		Memo:       &o.Memo,
		NewMemo:    func() any { return o.Memo.child() },
		Extra:      &settings,
		Exit:       o.exit,
	}
	if o.Config != nil {
		return engine.Run(kube.WithConfig(ctx, o.Config), config)
	}
	var logins *engine.Logins
	config.Logins = o.logins()
	config.OnLogins = func(l *engine.Logins) { logins = l }
	return engine.Run(kube.WithConfigFunc(ctx, func() *rest.Config { return logins.RESTConfig() }), config)
}

// errRunning is a mistake in the program.
var errRunning = errors.New("the operator is running already: another one can run beside it, but it cannot run twice at the same time")

// check finds what can be known to be wrong before anything is done.
func (o *Operator) check() error {
	if o.Registry == nil {
		return fmt.Errorf("%w: the Registry is not set", ErrRegistration)
	}
	if err := o.Registry.Err(); err != nil {
		return fmt.Errorf("%w:\n%w", ErrRegistration, err)
	}
	return checkNamespaces(o.Namespaces)
}

// checkNamespaces refuses what is a variable without a value by mistake: an empty name, which
// to the cluster means all namespaces.
func checkNamespaces(patterns []string) error {
	for _, pattern := range patterns {
		if strings.TrimSpace(pattern) == "" {
			return errors.New("a namespace to serve has an empty name: name one, or leave it out to serve the whole cluster")
		}
	}
	return nil
}

// RESTConfig returns what a Kubernetes client needs to act as the operator does. It
// follows the operator's logins: make the client once and keep it, and its requests go on
// when credentials are renewed. It is the caller's own copy. The context is that of a
// handler; startup handlers can make clients too, but their first request is a login.
//
// With logins, the credentials are in the configuration's transport, and not in its fields.
func RESTConfig(ctx context.Context) *rest.Config {
	config := kube.ConfigFrom(ctx)
	if config == nil {
		panic("kopf.RESTConfig: the context is not that of a handler")
	}
	return rest.CopyConfig(config)
}
