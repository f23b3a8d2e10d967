package apiclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrNoCredentials says that a login brought nothing to go on with.
var ErrNoCredentials = errors.New("no usable credentials")

// Credential is what a login brings.
type Credential struct {
	Session  *Session
	Priority int       // the highest one is used first
	Expires  time.Time // when it stops being used; never if zero
}

// Vault is a source that logs in when it has no valid session: at the first request,
// after the cluster rejected all sessions, and when they expired. There is one login at
// a time, and all requests wait for it.
type Vault struct {
	ctx   context.Context // bounds the logins
	login func(ctx context.Context) ([]Credential, error)

	mu          sync.Mutex
	credentials []Credential
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

// Current returns the session of the highest priority, and logs in if there is none.
func (v *Vault) Current(ctx context.Context) (*Session, error) {
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
			go v.renew(r)
		}
		v.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-r.done:
			if r.err != nil {
				return nil, fmt.Errorf("login: %w", r.err)
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
			v.credentials = append(v.credentials[:i:i], v.credentials[i+1:]...)
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
	credentials, err := v.login(v.ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.credentials = credentials
	if r.err = err; err == nil && v.best(time.Now()) == nil {
		r.err = ErrNoCredentials
	}
	v.renewal = nil
	close(r.done)
}
