package kube

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
)

// maxLogins is how many times a request is repeated with other credentials before it
// fails. A login that returns invalid credentials every time would loop without it.
const maxLogins = 3

// Follow returns a configuration for other clients of the same cluster. They use the
// session that is current at each request, and log in again like the source's own client.
// The session, if not nil, provides the address that the configuration shows.
func Follow(source Source, session *Session) *rest.Config {
	t := &reloginTransport{source: source, base: &url.URL{Scheme: "https", Host: "not-logged-in-yet.invalid"}}
	if session != nil {
		t.base = session.base
	}
	return &rest.Config{Host: t.base.String(), Transport: t}
}

// reloginTransport sends requests with the current session of a source. When the API
// server answers 401, it invalidates the session, gets another one, for which the source
// may log in, and repeats the request.
type reloginTransport struct {
	source Source
	base   *url.URL // base URL of requests, instead of the session's own address
}

// CloseIdleConnections does nothing, because the connections belong to sessions, which their source closes. Clients
// of client-go log that they do not know the transport if it does not have this method.
func (t *reloginTransport) CloseIdleConnections() {}

// RoundTrip implements [http.RoundTripper]. It returns the 401 if there is no other session
// or if the body cannot be sent again.
func (t *reloginTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	session, err := t.source.Current(ctx)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as a RoundTripper must
		}
		return nil, &noSessionError{err}
	}
	exchange, _ := ctx.Value(exchangeKey{}).(*exchange) // nil for the requests of other clients
	body := req.Body
	for logins := 0; ; logins++ {
		exchange.begin(ctx)
		resp, err := session.RoundTrip(t.addressed(req, session, body))
		if err != nil || resp.StatusCode != http.StatusUnauthorized {
			return resp, err
		}
		exchange.rejected(resp, buffer(resp))
		next := anotherSession(ctx, t.source, session, logins, exchange)
		if next == nil {
			return resp, nil
		}
		if req.Body != nil && req.Body != http.NoBody {
			if req.GetBody == nil {
				return resp, nil
			}
			if body, err = req.GetBody(); err != nil {
				return resp, nil
			}
		}
		session = next
	}
}

// anotherSession invalidates a session that the API server rejected, and returns the one to repeat the
// request with; nil if there is none, or if the request was repeated too often.
func anotherSession(ctx context.Context, source Source, rejected *Session, logins int, e *exchange) *Session {
	source.Invalidate(rejected)
	if logins == maxLogins {
		return nil
	}
	next, err := source.Current(ctx)
	if err != nil {
		e.loginFailed(err)
		return nil
	}
	if next == rejected {
		return nil
	}
	return next
}

// addressed returns a copy of the request for the address of a session. It has headers of its
// own, as plugins for credentials add some.
func (t *reloginTransport) addressed(req *http.Request, session *Session, body io.ReadCloser) *http.Request {
	base := session.base
	out := req.Clone(req.Context())
	out.Body = body
	out.URL.Scheme, out.URL.Host = base.Scheme, base.Host
	out.URL.Path = base.Path + strings.TrimPrefix(req.URL.Path, t.base.Path)
	if req.URL.RawPath != "" {
		out.URL.RawPath = base.EscapedPath() + strings.TrimPrefix(req.URL.RawPath, t.base.EscapedPath())
	}
	if out.Host == t.base.Host {
		out.Host = ""
	}
	return out
}

// buffer reads a body into memory, so that its connection is free for the next attempt.
func buffer(resp *http.Response) []byte {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBodyLimit)) // whatever can be read of it
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// noSessionError is the error of a request that was not sent, as there are no credentials.
type noSessionError struct{ err error }

// Error implements error.
func (e *noSessionError) Error() string { return e.err.Error() }

// Unwrap returns the error of the login.
func (e *noSessionError) Unwrap() error { return e.err }
