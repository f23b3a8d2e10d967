package kube

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/planning"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// Session holds the connections to a cluster with one set of credentials. It is safe for concurrent use.
type Session struct {
	base        *url.URL
	address     string // address of the base without a user; paths are appended
	connections *connections
}

// DefaultConnectTimeout limits a TCP handshake by default.
const DefaultConnectTimeout = 30 * time.Second

// NewSession returns a session that connects at the first request. The connectTimeout limits a TCP handshake; it
// defaults to 30s, and there is no limit if it is negative.
func NewSession(config *rest.Config, connectTimeout time.Duration) (*Session, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0 // each request has its own deadline, and streams have none
	if config.Dial == nil {
		config.Dial = dialer(connectTimeout).DialContext
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("parse server address: %w", printable.Error(err))
	}
	// client-go shares connections between transports, but not between those with dialers. It would reuse connections
	// that were opened with an old certificate.
	shared, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("configure connection: %w", printable.Error(err))
	}
	bulk, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("configure second connection: %w", printable.Error(err))
	}
	base.RawQuery, base.Fragment = "", ""
	base.Path = strings.TrimRight(base.Path, "/")
	address := url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path, RawPath: base.RawPath}
	return &Session{base: base, address: address.String(), connections: &connections{shared: shared, bulk: bulk}}, nil
}

func dialer(connectTimeout time.Duration) *net.Dialer {
	// A dialer with a timeout of 0 has no limit.
	return &net.Dialer{Timeout: max(0, cmp.Or(connectTimeout, DefaultConnectTimeout)), KeepAlive: 30 * time.Second}
}

// Server returns the address of the cluster without a password, for messages to people.
func (s *Session) Server() string { return s.base.Redacted() }

// RoundTrip implements [http.RoundTripper] for requests to the session's address. All requests pass here, including
// retries and repetitions after a login. It rejects writing requests after the fence of their context lapsed.
func (s *Session) RoundTrip(req *http.Request) (*http.Response, error) {
	if writes(req.Method) {
		if err := fence.MayWrite(req.Context()); err != nil {
			if req.Body != nil {
				_ = req.Body.Close() // a RoundTripper must close the body
			}
			return nil, err
		}
		req = fenceBody(req)
	}
	return s.connections.RoundTrip(planning.Sign(req))
}

// writes reports whether requests of a method change objects.
func writes(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

// Close closes idle connections at once, and other connections when they become idle.
func (s *Session) Close() { s.connections.close() }
