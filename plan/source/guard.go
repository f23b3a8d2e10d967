package source

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// RefusedError is the error of a request that is not sent, since it could change the cluster.
type RefusedError struct{ Method, Path string }

// Error implements the error interface.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("a plan never sends %s %s to the cluster", e.Method, e.Path)
}

// reviews is the only resource that may be posted: the answer is whether the user has a permission.
const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// acting are the subresources at which a request acts, or streams for as long as the caller likes.
var acting = []string{"exec", "attach", "portforward", "proxy", "log"}

// guard is a transport that sends only requests that read. It does not depend on the code that makes the requests.
type guard struct {
	next  http.RoundTripper
	slots chan struct{}
}

func guarded(next http.RoundTripper) http.RoundTripper {
	return &guard{next: next, slots: make(chan struct{}, concurrency)}
}

// RoundTrip implements [http.RoundTripper]. The slot of a request is free again when its answer is closed.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if !reads(req) {
		return nil, &RefusedError{Method: req.Method, Path: req.URL.Path}
	}
	select {
	case g.slots <- struct{}{}:
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		<-g.slots
		return nil, err
	}
	resp.Body = &slotted{ReadCloser: resp.Body, free: func() { <-g.slots }}
	return resp, nil
}

// reads reports whether a request only reads.
func reads(req *http.Request) bool {
	if req.Header.Get("Upgrade") != "" || slices.ContainsFunc(req.Header.Values("Connection"), isUpgrade) {
		return false
	}
	if acts(req.URL.Path) {
		return false
	}
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		return true
	case http.MethodPost:
		return strings.HasSuffix(req.URL.Path, reviews)
	default:
		return false
	}
}

func isUpgrade(connection string) bool {
	return strings.Contains(strings.ToLower(connection), "upgrade")
}

// acts reports whether a path has an acting subresource. An object may have the name of a subresource, and is refused, too: a list
// has all objects of the resource. Namespaces may have such names, since their own subresources do not act.
func acts(path string) bool {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if slices.Contains(acting, part) && (i == 0 || parts[i-1] != "namespaces") {
			return true
		}
	}
	return false
}

// slotted is the body of an answer that holds a slot.
type slotted struct {
	io.ReadCloser
	free func()
}

// Close implements [io.Closer]. It must be called once.
func (s *slotted) Close() error {
	err := s.ReadCloser.Close()
	if s.free != nil {
		s.free()
		s.free = nil
	}
	return err
}
