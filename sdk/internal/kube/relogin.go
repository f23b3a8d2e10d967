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

// maxLogins limits how often a request is repeated with other credentials. Without the limit, a login that always
// returns invalid credentials would cause an endless loop.
const maxLogins = 3

// Follow returns a configuration for other clients of the same cluster. Each of their requests uses the current session
// of the source, and is repeated after a login if the API server rejects the credentials. If the session is not nil, the
// configuration has its address.
func Follow(source Source, session *Session) *rest.Config {
	t := &reloginTransport{source: source, base: &url.URL{Scheme: "https", Host: "not-logged-in-yet.invalid"}}
	if session != nil {
		t.base = session.base
	}
	return &rest.Config{Host: t.base.String(), Transport: t}
}

// reloginTransport sends requests with the current session of a source. If the API server responds with 401, it
// invalidates the session and repeats the request with another session, for which the source may log in.
type reloginTransport struct {
	source Source
	base   *url.URL // base URL of requests, instead of the session's own address
}

// CloseIdleConnections does nothing, because the source closes the connections of its sessions. Without this method,
// client-go would log that it does not know the type of the transport.
func (t *reloginTransport) CloseIdleConnections() {}

// RoundTrip implements [http.RoundTripper]. It returns the response with 401 if there is no other session, or if the
// body cannot be sent again.
func (t *reloginTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	session, err := t.source.Current(ctx)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper must close the body
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

// anotherSession invalidates a session that the API server rejected, and returns the session for the repeated request.
// It returns nil if there is no other session, or if the request was repeated too often.
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

// addressed returns a copy of the request for the address of a session. The copy has its own headers, because credential
// plugins add headers.
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
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBodyLimit)) // a partial body is enough for the error
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// noSessionError is the error of a request that was not sent because there are no credentials.
type noSessionError struct{ err error }

// Error implements error.
func (e *noSessionError) Error() string { return e.err.Error() }

// Unwrap returns the error of the login.
func (e *noSessionError) Unwrap() error { return e.err }
