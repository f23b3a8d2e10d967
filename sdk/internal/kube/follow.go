package kube

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
)

// Follow makes a configuration for other clients of the same cluster. They use the
// session that is valid at the time of each request, so they survive the renewal of
// credentials as the source's own client does. If there is no session, their requests fail
// with the reason. The session, if there is one already, tells the address to show.
func Follow(source Source, session *Session) *rest.Config {
	f := &follower{source: source, base: &url.URL{Scheme: "https", Host: "not-logged-in-yet.invalid"}}
	if session != nil {
		f.base = session.base
	}
	return &rest.Config{Host: f.base.String(), Transport: f}
}

// follower sends requests with the session of the moment.
type follower struct {
	source Source
	base   *url.URL // what requests are made for
}

// RoundTrip implements [http.RoundTripper].
func (f *follower) RoundTrip(req *http.Request) (*http.Response, error) {
	session, err := f.source.Current(req.Context())
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as round trippers must; there is nobody to tell
		}
		return nil, err
	}
	body := req.Body
	for logins := 0; ; logins++ {
		resp, err := session.RoundTrip(f.redirected(req, session.base, body))
		if err != nil || resp.StatusCode != http.StatusUnauthorized {
			return resp, err
		}
		f.source.Invalidate(session, nil)
		if logins == maxLogins {
			return resp, nil
		}
		next, err := f.source.Current(req.Context())
		if err != nil || next == session {
			return resp, nil
		}
		if req.Body != nil && req.Body != http.NoBody {
			if req.GetBody == nil {
				return resp, nil // it cannot be sent again
			}
			if body, err = req.GetBody(); err != nil {
				return resp, nil
			}
		}
		_, _ = io.CopyN(io.Discard, resp.Body, errorBodyLimit) // for the connection to be used again
		_ = resp.Body.Close()
		session = next
	}
}

// redirected is a request for another address.
func (f *follower) redirected(req *http.Request, base *url.URL, body io.ReadCloser) *http.Request {
	out := req.Clone(req.Context())
	out.Body = body
	out.URL.Scheme, out.URL.Host = base.Scheme, base.Host
	out.URL.Path = base.Path + strings.TrimPrefix(req.URL.Path, f.base.Path)
	if req.URL.RawPath != "" {
		out.URL.RawPath = base.EscapedPath() + strings.TrimPrefix(req.URL.RawPath, f.base.EscapedPath())
	}
	if out.Host == f.base.Host {
		out.Host = ""
	}
	return out
}
