package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// ErrNoCredentials says that a login brought nothing to go on with.
var ErrNoCredentials = errors.New("no usable credentials")

// LoginError says that there are no valid credentials, and why the login brought none.
type LoginError struct{ Err error }

// Error tells why.
func (e *LoginError) Error() string { return "login: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *LoginError) Unwrap() error { return e.Err }

// maxRejected is how many credentials are remembered as rejected.
const maxRejected = 100

// Credential is what a login brings.
type Credential struct {
	Session  *Session
	Priority int       // the highest one is used first
	Expires  time.Time // when it stops being used; never if zero

	// Key is the same for the same configuration; empty if that cannot be told. A session
	// that is known already goes on instead of a new one.
	Key string

	// Renewable tells that one configuration can stand for different credentials over
	// time, such as those in a file. What is not renewable is refused once it was rejected,
	// or the logins would never end.
	Renewable bool
}

// Vault is a source that logs in when it has no valid session: at the first request,
// after the cluster rejected all sessions, and when they expired. There is one login at
// a time, and all requests wait for it.
type Vault struct {
	ctx   context.Context // bounds the logins
	login func(ctx context.Context) ([]Credential, error)
	going sync.WaitGroup

	mu          sync.Mutex
	credentials []Credential
	rejected    []string // keys, the oldest first
	renewal     *renewal // nil if no login goes on
}

type renewal struct {
	done chan struct{}
	err  error
}

// NewVault makes an empty vault. The context bounds its logins: a login is not given up
// together with the request that happened to need it first, as others wait for it too.
func NewVault(ctx context.Context, login func(ctx context.Context) ([]Credential, error)) *Vault {
	return &Vault{ctx: ctx, login: login}
}

// Close waits for a login that goes on, whose context must have ended, and closes the
// connections that nobody uses.
func (v *Vault) Close() {
	v.going.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.credentials {
		c.Session.Close()
	}
}

// Peek returns the session of the highest priority, or nil.
func (v *Vault) Peek() *Session {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.best(time.Now())
}

// loginKey is the context's key of the vault for which a login goes on.
type loginKey struct{}

// errInsideLogin is the error of a request that a login makes with the credentials that it
// is to bring: they would wait for each other.
var errInsideLogin = errors.New("there are no credentials yet: this is the login that is to bring them")

// Current returns the session of the highest priority, and logs in if there is none.
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

// Invalidate removes a session. The others stay; if there are none, the next request
// logs in. Requests that fail together invalidate a session once.
func (v *Vault) Invalidate(session *Session, _ error) {
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

// populate takes what a login has brought in place of what was there before.
func (v *Vault) populate(brought []Credential) error {
	known := v.credentials
	v.credentials = make([]Credential, 0, len(brought))
	for _, c := range brought {
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
	case len(brought) == 0:
		return ErrNoCredentials
	case len(v.credentials) == 0:
		return fmt.Errorf("%w: the cluster has rejected them before", ErrNoCredentials)
	default:
		return fmt.Errorf("%w: they have expired", ErrNoCredentials)
	}
}
