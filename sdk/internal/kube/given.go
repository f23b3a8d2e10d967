package kube

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Given is a source of one configuration, which nobody replaces. What it says itself of the
// credentials is final; what it refers to, such as a file or a plugin, is looked up again
// when the cluster rejects what was there before.
type Given struct {
	config         *rest.Config
	connectTimeout time.Duration
	renewable      bool

	mu      sync.Mutex
	session *Session
}

// NewGiven prepares the first session.
func NewGiven(config *rest.Config, connectTimeout time.Duration) (*Given, error) {
	session, err := NewSession(config, connectTimeout)
	if err != nil {
		return nil, err
	}
	_, renewable := Identify(config)
	return &Given{config: config, connectTimeout: connectTimeout, renewable: renewable, session: session}, nil
}

// Current returns the session of the moment.
func (g *Given) Current(context.Context) (*Session, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.session, nil
}

// Invalidate replaces a session, if another one can have other credentials.
func (g *Given) Invalidate(session *Session, _ error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.renewable || g.session != session {
		return
	}
	next, err := NewSession(g.config, g.connectTimeout)
	if err != nil {
		return // a file that is being replaced: whoever is rejected next looks again
	}
	g.session = next
	session.Close()
}

// Close closes the connections.
func (g *Given) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.session.Close()
}
