package kube

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

var examples = &resources.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true}

// answer is how the fake server answers one request, or the error of the network.
type answer func(*http.Request) (*http.Response, error)

func respond(code int, body string, header ...string) answer {
	return func(r *http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: code, Header: http.Header{}, Request: r, Body: io.NopCloser(bytes.NewBufferString(body))}
		for i := 0; i < len(header); i += 2 {
			resp.Header.Add(header[i], header[i+1])
		}
		return resp, nil
	}
}

func fail(err error) answer {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// script answers requests one after another; the last answer is repeated. It needs no
// network, so that it works in virtual time.
type script struct {
	mu       sync.Mutex
	answers  []answer
	requests []*http.Request
	times    []time.Time
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	next := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	s.requests = append(s.requests, r)
	s.times = append(s.times, time.Now())
	s.mu.Unlock()
	return next(r)
}

func sessionFor(t *testing.T, transport http.RoundTripper) *Session {
	t.Helper()
	session, err := NewSession(&rest.Config{Host: "http://cluster.test/prefix/", Transport: transport}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func clientFor(t *testing.T, options ClientOptions, answers ...answer) (*Client, *script) {
	t.Helper()
	s := &script{answers: answers}
	return NewClient(Fixed(sessionFor(t, s)), options), s
}

// CloseIdleConnections exists because the client calls it on its transport.
func (s *script) CloseIdleConnections() {}

const example = `{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"n","resourceVersion":"5","managedFields":[]}}`

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
