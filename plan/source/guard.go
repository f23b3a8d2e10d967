package source

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// RefusedError is the error of a request that is not sent, because it could change the cluster.
type RefusedError struct{ Method, Path string }

// Error implements the error interface.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("a plan never sends %s %s to the cluster", e.Method, e.Path)
}

// reviews is the only path that accepts POST: a review only returns whether the user has a permission.
const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// acting are the subresources whose GET requests can have effects, or can stream without an end.
var acting = []string{"exec", "attach", "portforward", "proxy", "log"}

// guard is a transport that sends only requests that read. It does not rely on the code that makes the requests.
type guard struct {
	next  http.RoundTripper
	slots chan struct{}
}

func guarded(next http.RoundTripper) http.RoundTripper {
	return &guard{next: next, slots: make(chan struct{}, concurrency)}
}

// RoundTrip implements [http.RoundTripper]. A request holds a slot until the body of its answer is closed.
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

// acts reports whether a path may have an acting subresource. It also returns true for an object with the name of such a subresource. Such
// an object can still be listed. Namespaces may have these names, because the subresources of namespaces do not act.
func acts(path string) bool {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if slices.Contains(acting, part) && (i == 0 || parts[i-1] != "namespaces") {
			return true
		}
	}
	return false
}

// slotted is the body of an answer. Closing the body frees the slot of the request.
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
