package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// ErrLogin is in the error of an operator that has no valid credentials and gets none.
var ErrLogin = errors.New("cannot log in to the cluster")

// Login is what a login handler results in.
type Login struct {
	Config    *rest.Config
	Namespace string // where events about cluster-scoped objects go; "default" if empty
	Priority  int
	Expires   time.Time // never if zero
}

// Logins are the operator's source of sessions, which the login handlers bring. An
// operator that cannot log in any more ends.
type Logins struct {
	*kube.Vault
	fail func(error)

	namespace atomic.Pointer[string] // of the best credential
}

// newLogins makes the source. The context bounds the logins; fail ends the operator.
func (o *operator) newLogins(ctx context.Context, fail func(error)) *Logins {
	l := &Logins{fail: fail}
	title := "Initial authentication"
	l.Vault = kube.NewVault(ctx, func(ctx context.Context) ([]kube.Credential, error) {
		credentials, err := o.login(ctx, title, l)
		o.metersOf().loggedIn(err)
		title = "Re-authentication"
		return credentials, err
	})
	return l
}

// Current implements [kube.Source].
func (l *Logins) Current(ctx context.Context) (*kube.Session, error) {
	session, err := l.Vault.Current(ctx)
	if failed, ok := errors.AsType[*kube.LoginError](err); ok {
		err = fmt.Errorf("%w: %w", ErrLogin, failed.Err)
		l.fail(err)
	}
	return session, err
}

// RESTConfig is for other clients of the cluster, which follow the logins.
func (l *Logins) RESTConfig() *rest.Config { return kube.Follow(l, l.Peek()) }

// defaultNamespace is that of the credentials; empty if they have none.
func (l *Logins) defaultNamespace() string {
	if l == nil {
		return ""
	}
	if name := l.namespace.Load(); name != nil {
		return *name
	}
	return ""
}

// enter gets the first way into the cluster.
func (o *operator) enter(ctx context.Context) (*kube.Session, error) {
	if o.logins != nil {
		o.source = o.logins
		return o.logins.Current(ctx)
	}
	given, err := kube.NewGiven(o.config.REST, o.settings.ConnectTimeout)
	if err != nil {
		return nil, fmt.Errorf("the configuration of the cluster: %w", err)
	}
	o.given, o.source = given, given
	return given.Current(ctx)
}

// disconnect closes the connections that nobody uses any more.
func (o *operator) disconnect() {
	if o.given != nil {
		o.given.Close()
	}
	if o.logins != nil {
		o.logins.Close()
	}
}

// login calls the login handlers, and prepares the sessions of what they bring.
func (o *operator) login(ctx context.Context, title string, l *Logins) ([]kube.Credential, error) {
	logger := o.logger.With(observe.NameKey, "kopf.authentication")
	logger.Info(title + " has been initiated.")
	results, err := o.perform(ctx, handlers.Login, o.config.Logins)
	if err != nil {
		return nil, err
	}
	var credentials []kube.Credential
	var best *Login
	for _, h := range o.config.Logins {
		found, ok := results[h.ID].(*Login)
		if !ok {
			continue // it has none
		}
		session, err := kube.NewSession(found.Config, o.valid.Load().ConnectTimeout)
		if err != nil {
			return nil, fmt.Errorf("what %s returned: %w", h, err)
		}
		key, renewable := kube.Identify(found.Config)
		credentials = append(credentials, kube.Credential{
			Session: session, Priority: found.Priority, Expires: found.Expires, Key: key, Renewable: renewable,
		})
		if best == nil || found.Priority > best.Priority {
			best = found
			l.namespace.Store(&found.Namespace)
			o.reporter.operator(func(op *inspect.Operator) { op.Server = session.Server() })
		}
	}
	if best == nil {
		logger.Warn(title + " has failed: no credentials were retrieved from the login handlers.")
		return nil, kube.ErrNoCredentials
	}
	logger.Info(title + " has finished.")
	return credentials, nil
}
