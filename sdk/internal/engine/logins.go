package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// ErrLogin is wrapped by the error of an operator that stops because it has no valid credentials.
var ErrLogin = errors.New("cannot log in to the cluster")

// Login is the result of a login handler.
type Login struct {
	Config    *rest.Config
	Namespace string // namespace of events about cluster-scoped objects; "default" if empty
	Priority  int
	Expires   time.Time // zero if the credentials do not expire
}

// Logins are the operator's sessions from its login handlers. They are safe for concurrent use.
type Logins struct {
	*kube.Vault
	operator  *operator
	namespace atomic.Pointer[string] // namespace of the credentials with the highest priority
}

// newLogins creates the sessions of the login handlers. Logins continue until the context ends.
func (o *operator) newLogins(ctx context.Context) *Logins {
	l := &Logins{operator: o}
	title := "Initial authentication"
	l.Vault = kube.NewVault(ctx, func(ctx context.Context) ([]kube.Credential, error) {
		credentials, err := l.login(ctx, title)
		observe.Emit(o.deps.Sink, observe.LoginEnded{Err: err})
		title = "Re-authentication"
		return credentials, err
	})
	return l
}

// Connect logs in to the cluster as an operator does, without running it. Logins continue until the context ends. The
// caller must then close them.
func Connect(ctx context.Context, config Config) (*Logins, error) {
	o := newOperator(ctx, config, core.NewIndices(config.Registry))
	o.stopBackground()
	o.fail = func(error) {} // each request that needs a login returns the error
	logins := o.newLogins(ctx)
	if _, err := logins.Current(ctx); err != nil {
		logins.Close()
		return nil, err
	}
	return logins, nil
}

// Current implements [kube.Source]. If the login fails, it stops the operator.
func (l *Logins) Current(ctx context.Context) (*kube.Session, error) {
	session, err := l.Vault.Current(ctx)
	if failed, ok := errors.AsType[*kube.LoginError](err); ok {
		err = fmt.Errorf("%w: %w", ErrLogin, failed.Err)
		l.operator.fail(err)
	}
	return session, err
}

// RESTConfig returns a configuration for other clients of the cluster, which follows the logins.
func (l *Logins) RESTConfig() *rest.Config { return kube.Follow(l, l.Peek()) }

// Namespace returns the namespace of the credentials, for example of the pod. It is empty if they have none, and for nil logins.
func (l *Logins) Namespace() string {
	if l == nil || l.namespace.Load() == nil {
		return ""
	}
	return *l.namespace.Load()
}

// login calls the login handlers, and creates sessions from their results.
func (l *Logins) login(ctx context.Context, title string) ([]kube.Credential, error) {
	o := l.operator
	logger := o.deps.Logger.With(observe.NameKey, "kopf.authentication")
	logger.Info(title+" has been initiated.", observe.EventKey, observe.LogLoginStarted)
	results, err := o.runActivity(ctx, handlers.Login, o.config.Logins)
	if err != nil {
		return nil, err
	}
	var credentials []kube.Credential
	var best *Login
	for _, h := range o.config.Logins {
		login, ok := results[h.ID].(*Login)
		if !ok {
			continue // the handler found no credentials
		}
		session, err := kube.NewSession(login.Config, o.settings.Load().ConnectTimeout)
		if err != nil {
			return nil, fmt.Errorf("use the credentials of %s: %w", h, err)
		}
		key, renewable := kube.Identify(login.Config)
		credentials = append(credentials, kube.Credential{
			Session: session, Priority: login.Priority, Expires: login.Expires, Key: key, Renewable: renewable,
		})
		if best == nil || login.Priority > best.Priority {
			best = login
			l.namespace.Store(&login.Namespace)
			observe.Emit(o.deps.Sink, observe.ClusterConnected{Server: session.Server()})
		}
	}
	if best == nil {
		logger.Warn(title+" has failed: no credentials were retrieved from the login handlers.", observe.EventKey, observe.LogLoginFailed)
		return nil, kube.ErrNoCredentials
	}
	logger.Info(title+" has finished.", observe.EventKey, observe.LogLoginFinished)
	return credentials, nil
}

// logIn returns the source of sessions, and the URL of the API server.
func (o *operator) logIn(ctx context.Context) (kube.Source, string, error) {
	var source kube.Source = o.logins
	if o.logins == nil {
		given, err := kube.NewConfigSource(o.config.REST, o.deps.Settings.ConnectTimeout)
		if err != nil {
			return nil, "", fmt.Errorf("use the configuration of the cluster: %w", err)
		}
		source, o.disconnect = given, given.Close
	}
	session, err := source.Current(ctx)
	if err != nil {
		return nil, "", err
	}
	return source, session.Server(), nil
}
