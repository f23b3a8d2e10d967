package apiclient

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Session is a way into a cluster with one set of credentials: the connections and who
// uses them. It is safe for concurrent use.
type Session struct {
	server string
	base   *url.URL // the same
	client *http.Client
}

// NewSession prepares connections as a configuration tells. Nothing is connected yet. A
// connectTimeout that is not positive means no limit of its own.
func NewSession(config *rest.Config, connectTimeout time.Duration) (*Session, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0 // each request has its own deadline, and streams have none
	if connectTimeout > 0 && config.Dial == nil {
		config.Dial = (&net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("server address: %w", err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connection settings: %w", err)
	}
	base.RawQuery, base.Fragment = "", ""
	base.Path = strings.TrimRight(base.Path, "/")
	return &Session{server: base.String(), base: base, client: client}, nil
}

// Server is the address of the cluster.
func (s *Session) Server() string { return s.server }

// RoundTrip sends a request that is made for the address of the session.
func (s *Session) RoundTrip(req *http.Request) (*http.Response, error) {
	if s.client.Transport == nil {
		return http.DefaultTransport.RoundTrip(req) // there is nothing to configure
	}
	return s.client.Transport.RoundTrip(req)
}

// closing is how long a connection is still in use after its last stream was cancelled.
const closing = 100 * time.Millisecond

// Close closes the connections that nobody uses at the moment, or a moment later.
func (s *Session) Close() {
	utilnet.CloseIdleConnectionsFor(s.client.Transport)
	time.AfterFunc(closing, func() { utilnet.CloseIdleConnectionsFor(s.client.Transport) })
}

// Source provides sessions. It is how credentials are renewed while requests go on.
type Source interface {
	// Current returns a session which is not known to be invalid. It blocks while one is
	// being obtained.
	Current(ctx context.Context) (*Session, error)

	// Invalidate says that the cluster rejected the credentials of a session. A later
	// Current returns another session, or the same one if there cannot be another.
	Invalidate(session *Session, cause error)
}

// Static is a source of one session for ever.
type Static struct{ session *Session }

// NewStatic prepares a session which is never renewed.
func NewStatic(config *rest.Config, connectTimeout time.Duration) (Static, error) {
	session, err := NewSession(config, connectTimeout)
	return Static{session}, err
}

// Fixed is a source of one session that somebody else has prepared.
func Fixed(session *Session) Static { return Static{session} }

// Current returns the only session.
func (s Static) Current(context.Context) (*Session, error) { return s.session, nil }

// Invalidate does nothing: there is no other session.
func (Static) Invalidate(*Session, error) {}
