package kube

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// Session is a way into a cluster with one set of credentials: the connections and who
// uses them. It is safe for concurrent use.
type Session struct {
	server string
	base   *url.URL // the same
	client *http.Client
	usage  *usage
}

// defaultConnectTimeout is how long a TCP handshake may take if nobody says.
const defaultConnectTimeout = 30 * time.Second

// NewSession prepares connections as a configuration tells. Nothing is connected yet. A
// connectTimeout of 0 means 30 seconds, a negative one means none.
func NewSession(config *rest.Config, connectTimeout time.Duration) (*Session, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0 // each request has its own deadline, and streams have none
	if config.Dial == nil {
		// Sessions with a function of their own share no connections: client-go would keep those
		// that were opened with a certificate that the cluster does not accept any more.
		config.Dial = dialer(connectTimeout).DialContext
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("server address: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("connection settings: %w", err)
	}
	base.RawQuery, base.Fragment = "", ""
	base.Path = strings.TrimRight(base.Path, "/")
	u := &usage{next: transport}
	return &Session{server: base.String(), base: base, client: &http.Client{Transport: u}, usage: u}, nil
}

func dialer(connectTimeout time.Duration) *net.Dialer {
	// The zero value of a dialer's timeout is none.
	return &net.Dialer{Timeout: max(0, cmp.Or(connectTimeout, defaultConnectTimeout)), KeepAlive: 30 * time.Second}
}

// Server is the address of the cluster.
func (s *Session) Server() string { return s.server }

// RoundTrip sends a request that is made for the address of the session.
func (s *Session) RoundTrip(req *http.Request) (*http.Response, error) { return s.usage.RoundTrip(req) }

// Close closes the connections: at once, or when those who use them are done.
func (s *Session) Close() { s.usage.close() }

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

// Fixed is a source of one session that somebody else has prepared.
func Fixed(session *Session) Static { return Static{session} }

// Current returns the only session.
func (s Static) Current(context.Context) (*Session, error) { return s.session, nil }

// Invalidate does nothing: there is no other session.
func (Static) Invalidate(*Session, error) {}
