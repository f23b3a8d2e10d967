package reactor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/apiclient"
	"github.com/kopf-dev/kopf/sdk/internal/handler"
	"github.com/kopf-dev/kopf/sdk/internal/logging"
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
	*apiclient.Vault
	fail func(error)

	namespace atomic.Pointer[string] // of the best credential
}

// newLogins makes the source. The context bounds the logins; fail ends the operator.
func (o *operator) newLogins(ctx context.Context, fail func(error)) *Logins {
	l := &Logins{fail: fail}
	title := "Initial authentication"
	l.Vault = apiclient.NewVault(ctx, func(ctx context.Context) ([]apiclient.Credential, error) {
		credentials, err := o.login(ctx, title, l)
		o.metersOf().loggedIn(err)
		title = "Re-authentication"
		return credentials, err
	})
	return l
}

// Current implements [apiclient.Source].
func (l *Logins) Current(ctx context.Context) (*apiclient.Session, error) {
	session, err := l.Vault.Current(ctx)
	if failed, ok := errors.AsType[*apiclient.LoginError](err); ok {
		err = fmt.Errorf("%w: %w", ErrLogin, failed.Err)
		l.fail(err)
	}
	return session, err
}

// RESTConfig is for other clients of the cluster, which follow the logins.
func (l *Logins) RESTConfig() *rest.Config { return apiclient.Follow(l, l.Peek()) }

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
func (o *operator) enter(ctx context.Context) (*apiclient.Session, error) {
	if o.logins != nil {
		o.source = o.logins
		return o.logins.Current(ctx)
	}
	given, err := apiclient.NewGiven(o.config.REST, o.settings.ConnectTimeout)
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
func (o *operator) login(ctx context.Context, title string, l *Logins) ([]apiclient.Credential, error) {
	logger := o.logger.With(logging.NameKey, "kopf.authentication")
	logger.Info(title + " has been initiated.")
	results, err := o.perform(ctx, handler.Login, o.config.Logins)
	if err != nil {
		return nil, err
	}
	var credentials []apiclient.Credential
	var best *Login
	for _, h := range o.config.Logins {
		found, ok := results[h.ID].(*Login)
		if !ok {
			continue // it has none
		}
		session, err := apiclient.NewSession(found.Config, o.valid.Load().ConnectTimeout)
		if err != nil {
			return nil, fmt.Errorf("what %s returned: %w", h, err)
		}
		key, renewable := apiclient.Identify(found.Config)
		credentials = append(credentials, apiclient.Credential{
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
		return nil, apiclient.ErrNoCredentials
	}
	logger.Info(title + " has finished.")
	return credentials, nil
}
