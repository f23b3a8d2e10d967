package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	vault *kube.Vault
	fail  func(error) // stops the operator

	activities *activities
	handlers   []*handlers.Handler
	logger     *slog.Logger

	namespace atomic.Pointer[string] // namespace of the credentials with the highest priority
}

// newLogins creates the sessions of the login handlers. Logins continue until the context ends; stop stops the operator.
func (o *operator) newLogins(ctx context.Context, stop func(error)) *Logins {
	l := &Logins{
		fail: stop, activities: o.activities, handlers: o.config.Logins,
		logger: o.deps.Logger.With(observe.NameKey, "kopf.authentication"),
	}
	title := "Initial authentication"
	l.vault = kube.NewVault(ctx, func(ctx context.Context) ([]kube.Credential, error) {
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
	logins := o.newLogins(ctx, func(error) {}) // each request that needs a login returns the error
	if _, err := logins.Current(ctx); err != nil {
		logins.Close()
		return nil, err
	}
	return logins, nil
}

// Current implements [kube.Source]. If the login fails, it stops the operator.
func (l *Logins) Current(ctx context.Context) (*kube.Session, error) {
	session, err := l.vault.Current(ctx)
	if failed, ok := errors.AsType[*kube.LoginError](err); ok {
		err = fmt.Errorf("%w: %w", ErrLogin, failed.Err)
		l.fail(err)
	}
	return session, err
}

// Invalidate implements [kube.Source].
func (l *Logins) Invalidate(session *kube.Session) { l.vault.Invalidate(session) }

// Close closes the connections of all sessions.
func (l *Logins) Close() { l.vault.Close() }

// RESTConfig returns a configuration for other clients of the cluster, which follows the logins.
func (l *Logins) RESTConfig() *rest.Config { return kube.Follow(l, l.vault.Peek()) }

// Namespace returns the namespace of the credentials, for example the namespace of the pod. It is empty if they have
// none, and for nil logins.
func (l *Logins) Namespace() string {
	if l != nil {
		if name := l.namespace.Load(); name != nil {
			return *name
		}
	}
	return ""
}

// login calls the login handlers, and creates sessions from their results.
func (l *Logins) login(ctx context.Context, title string) ([]kube.Credential, error) {
	l.logger.Info(title+" has been initiated.", observe.EventKey, observe.LogLoginStarted)
	results, err := l.activities.run(ctx, handlers.Login, l.handlers)
	if err != nil {
		return nil, err
	}
	var credentials []kube.Credential
	var best *Login
	for _, h := range l.handlers {
		login, ok := results[h.ID].(*Login)
		if !ok {
			continue // the handler found no credentials
		}
		session, err := kube.NewSession(login.Config, l.activities.settings().ConnectTimeout)
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
			observe.Emit(l.activities.deps.Sink, observe.ClusterConnected{Server: session.Server()})
		}
	}
	if best == nil {
		l.logger.Warn(title+" has failed: no credentials were retrieved from the login handlers.", observe.EventKey, observe.LogLoginFailed)
		return nil, kube.ErrNoCredentials
	}
	l.logger.Info(title+" has finished.", observe.EventKey, observe.LogLoginFinished)
	return credentials, nil
}
