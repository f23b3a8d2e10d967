package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// ErrNoCredentials is the error of a login that returned no usable credentials.
var ErrNoCredentials = errors.New("no usable credentials")

// LoginError is the error of a request without valid credentials, after the login failed.
type LoginError struct{ Err error }

// Error implements error.
func (e *LoginError) Error() string { return "login: " + e.Err.Error() }

// Unwrap returns the error of the login.
func (e *LoginError) Unwrap() error { return e.Err }

// maxRejected limits the number of remembered keys of rejected credentials.
const maxRejected = 100

// Credential is a result of a login.
type Credential struct {
	Session  *Session
	Priority int       // the credential with the highest priority is used first
	Expires  time.Time // time when the vault stops using it; zero means never

	// Key is equal for equal configurations; empty if it is unknown. If a session with the same key exists, the vault
	// keeps the existing session.
	Key string

	// Renewable reports whether the configuration can have different credentials over time, for example from a file. The
	// vault does not accept other credentials again after the API server rejected them, because the logins would never
	// end.
	Renewable bool
}

// Vault is a [Source] that logs in when it has no valid session: at the first request, after the API server rejected all
// sessions, and after all sessions expired. Only one login runs at a time, and all requests wait for it. A Vault is safe
// for concurrent use.
type Vault struct {
	ctx   context.Context // context of the logins
	login func(ctx context.Context) ([]Credential, error)
	going sync.WaitGroup

	mu          sync.Mutex
	credentials []Credential
	rejected    []string // keys of rejected credentials, oldest first
	renewal     *renewal // the running login; nil if there is none
}

type renewal struct {
	done chan struct{}
	err  error
}

// NewVault returns an empty vault. Logins run with the context ctx; a login continues when the request that started
// it is canceled, because other requests wait for the login.
func NewVault(ctx context.Context, login func(ctx context.Context) ([]Credential, error)) *Vault {
	return &Vault{ctx: ctx, login: login}
}

// Close waits for the running login, whose context must have ended, and closes all sessions.
func (v *Vault) Close() {
	v.going.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.credentials {
		c.Session.Close()
	}
}

// Peek returns the session of the highest priority, or nil. It does not log in.
func (v *Vault) Peek() *Session {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.best(time.Now())
}

// loginKey is the key of the vault in the context of its login.
type loginKey struct{}

// errInsideLogin is the error of a request that a login sends through the vault. The request would wait for the login, and
// the login for the request.
var errInsideLogin = errors.New("no credentials yet: a login must not use the client that it logs in")

// Current implements [Source]. It returns the session of the highest priority, and logs in
// if there is none. Its error is a [LoginError] if the login failed.
func (v *Vault) Current(ctx context.Context) (*Session, error) {
	if ctx.Value(loginKey{}) == v {
		return nil, errInsideLogin
	}
	for {
		v.mu.Lock()
		if best := v.best(time.Now()); best != nil {
			v.mu.Unlock()
			return best, nil
		}
		r := v.renewal
		if r == nil {
			r = &renewal{done: make(chan struct{})}
			v.renewal = r
			v.going.Go(func() { v.renew(r) })
		}
		v.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-r.done:
			if r.err != nil {
				return nil, &LoginError{r.err}
			}
		}
	}
}

// Invalidate implements [Source]. It removes the session once, even if several requests failed with it. If no other
// session is left, the next request logs in.
func (v *Vault) Invalidate(session *Session) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, c := range v.credentials {
		if c.Session == session {
			v.credentials = slices.Delete(v.credentials, i, i+1)
			if c.Key != "" && !c.Renewable {
				v.rejected = append(v.rejected[max(0, len(v.rejected)-maxRejected+1):], c.Key)
			}
			session.Close()
			return
		}
	}
}

func (v *Vault) best(now time.Time) *Session {
	var best *Credential
	for i := range v.credentials {
		c := &v.credentials[i]
		if (c.Expires.IsZero() || now.Before(c.Expires)) && (best == nil || c.Priority > best.Priority) {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	return best.Session
}

func (v *Vault) renew(r *renewal) {
	credentials, err := v.login(context.WithValue(v.ctx, loginKey{}, v))
	v.mu.Lock()
	defer v.mu.Unlock()
	if r.err = err; err == nil {
		r.err = v.populate(credentials)
	}
	v.renewal = nil
	close(r.done)
}

// populate replaces all credentials with the credentials of a login.
func (v *Vault) populate(found []Credential) error {
	known := v.credentials
	v.credentials = make([]Credential, 0, len(found))
	for _, c := range found {
		if c.Key != "" && slices.Contains(v.rejected, c.Key) {
			c.Session.Close()
			continue
		}
		if i := slices.IndexFunc(known, func(k Credential) bool { return c.Key != "" && k.Key == c.Key }); i >= 0 {
			c.Session.Close()
			c.Session = known[i].Session
			known = slices.Delete(known, i, i+1)
		}
		v.credentials = append(v.credentials, c)
	}
	for _, c := range known {
		c.Session.Close()
	}
	switch {
	case v.best(time.Now()) != nil:
		return nil
	case len(found) == 0:
		return ErrNoCredentials
	case len(v.credentials) == 0:
		return fmt.Errorf("%w: the API server has rejected them before", ErrNoCredentials)
	default:
		return fmt.Errorf("%w: they have expired", ErrNoCredentials)
	}
}
