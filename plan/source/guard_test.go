package source

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/rest"
)

// open returns the reader of a server that counts its requests.
func open(t *testing.T, answer http.HandlerFunc) (*Reader, *atomic.Int64) {
	t.Helper()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	r, err := Open(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, &requests
}

func TestGuard_SendsOnlyWhatReads(t *testing.T) {
	const pod = "/api/v1/namespaces/default/pods/a"
	cases := []struct {
		title, method, path string
		header              http.Header
		sent                bool
	}{
		{title: "get", method: "GET", path: pod, sent: true},
		{title: "head", method: "HEAD", path: pod, sent: true},
		{title: "a question about permissions", method: "POST", path: reviews, sent: true},
		{title: "create", method: "POST", path: "/api/v1/namespaces/default/pods"},
		{title: "a question about others' permissions", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"},
		{title: "a token", method: "POST", path: "/api/v1/namespaces/default/serviceaccounts/a/token"},
		{title: "an object with the name of a question", method: "POST", path: reviews + "/x"},
		{title: "a question that a pod gets", method: "POST", path: pod + "/proxy" + reviews},
		{title: "update", method: "PUT", path: pod},
		{title: "patch", method: "PATCH", path: pod},
		{title: "delete", method: "DELETE", path: pod},
		{title: "an unknown method", method: "LINK", path: pod},
		{title: "dry run", method: "PATCH", path: pod + "?dryRun=All"},
		{title: "exec", method: "GET", path: pod + "/exec?command=rm"},
		{title: "attach", method: "GET", path: pod + "/attach"},
		{title: "port forward", method: "GET", path: pod + "/portforward"},
		{title: "proxy", method: "GET", path: pod + "/proxy/delete-everything"},
		{title: "proxy of a service", method: "GET", path: "/api/v1/namespaces/default/services/a:80/proxy/x"},
		{title: "log", method: "GET", path: pod + "/log?follow=true"},
		{title: "a namespace with the name of a subresource", method: "GET", path: "/api/v1/namespaces/proxy/pods", sent: true},
		{title: "proxy in such a namespace", method: "GET", path: "/api/v1/namespaces/proxy/pods/a/proxy/x"},
		{title: "upgrade", method: "GET", path: pod, header: http.Header{"Upgrade": {"websocket"}}},
		{title: "connection upgrade", method: "GET", path: pod, header: http.Header{"Connection": {"keep-alive, Upgrade"}}},
	}
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			r, requests := open(t, func(http.ResponseWriter, *http.Request) {})
			req, err := http.NewRequestWithContext(t.Context(), c.method, strings.TrimSuffix(r.base.String(), "/")+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header = c.header.Clone()
			if req.Header == nil {
				req.Header = http.Header{}
			}
			resp, err := r.client.Do(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			if _, refused := errors.AsType[*RefusedError](err); refused == c.sent {
				t.Errorf("the request ended with %v, want it sent: %t", err, c.sent)
			}
			if got := requests.Load() == 1; got != c.sent {
				t.Errorf("the server got %d requests, want one: %t", requests.Load(), c.sent)
			}
		})
	}
}

// TestGuard_FollowsNoRedirect has a server that sends the reader elsewhere.
func TestGuard_FollowsNoRedirect(t *testing.T) {
	r, requests := open(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}
		_, _ = io.WriteString(w, `{"gitVersion":"v1"}`)
	})
	if _, err := r.Version(t.Context()); err == nil {
		t.Error("the redirect is taken for an answer")
	}
	if requests.Load() != 1 {
		t.Errorf("the server got %d requests, want 1", requests.Load())
	}
}

// roundTrip is a transport that is a function.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestGuard_BoundsRequests has a cluster that answers no request until the test has counted the requests.
func TestGuard_BoundsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var sent atomic.Int64
		g := guarded(roundTrip(func(*http.Request) (*http.Response, error) {
			sent.Add(1)
			<-release
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		}))
		for range 2 * concurrency {
			go func() {
				resp, err := g.RoundTrip(httptest.NewRequest(http.MethodGet, "/api", nil))
				if err != nil {
					t.Error(err)
					return
				}
				_ = resp.Body.Close()
			}()
		}
		synctest.Wait()
		if n := sent.Load(); n != concurrency {
			t.Errorf("%d requests were sent at a time, want %d", n, concurrency)
		}
		close(release)
		synctest.Wait()
		if n := sent.Load(); n != 2*concurrency {
			t.Errorf("%d requests were sent after the answers, want %d", n, 2*concurrency)
		}
	})
}
