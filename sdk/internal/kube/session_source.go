package kube

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Source provides sessions. It renews credentials while requests continue.
type Source interface {
	// Current returns a session that the API server did not reject. It blocks while a login runs.
	Current(ctx context.Context) (*Session, error)

	// Invalidate reports that the API server rejected the credentials of a session. Current then returns a new
	// session, or the same session if there are no other credentials.
	Invalidate(session *Session)
}

// fixed is a source of one session that never changes.
type fixed struct{ session *Session }

// Fixed returns a source of one session that never changes.
func Fixed(session *Session) Source { return fixed{session} }

// Current implements [Source].
func (s fixed) Current(context.Context) (*Session, error) { return s.session, nil }

// Invalidate implements [Source]. It does nothing, because there is no other session.
func (fixed) Invalidate(*Session) {}

// ConfigSource is a source of one configuration, without logins. After the API server rejects the credentials, it reads
// them again if they are in a file or come from a plugin.
type ConfigSource struct {
	config         *rest.Config
	connectTimeout time.Duration
	renewable      bool

	mu      sync.Mutex
	session *Session
}

// NewConfigSource returns a source with a session that is not connected yet. The timeout is the timeout of [NewSession].
func NewConfigSource(config *rest.Config, connectTimeout time.Duration) (*ConfigSource, error) {
	session, err := NewSession(config, connectTimeout)
	if err != nil {
		return nil, err
	}
	_, renewable := Identify(config)
	return &ConfigSource{config: config, connectTimeout: connectTimeout, renewable: renewable, session: session}, nil
}

// Current implements [Source].
func (g *ConfigSource) Current(context.Context) (*Session, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.session, nil
}

// Invalidate implements [Source]. It replaces the session if the configuration can return other credentials.
func (g *ConfigSource) Invalidate(session *Session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.renewable || g.session != session {
		return
	}
	next, err := NewSession(g.config, g.connectTimeout)
	if err != nil {
		return // for example, a file is being replaced; the next rejection tries again
	}
	g.session = next
	session.Close()
}

// Close closes the connections.
func (g *ConfigSource) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.session.Close()
}
