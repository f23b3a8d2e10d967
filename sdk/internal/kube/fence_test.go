package kube

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/fence"
)

// fenced returns a client of a server, with one retry.
func fenced(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	session, err := NewSession(&rest.Config{Host: server.URL}, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return NewClient(Fixed(session), ClientOptions{Backoffs: slices.Values([]time.Duration{time.Millisecond})})
}

func TestFence_LapseRefusesRetriesOfWritesAlone(t *testing.T) {
	for method, want := range map[string]int32{http.MethodPatch: 1, http.MethodPost: 1, http.MethodPut: 1, http.MethodDelete: 1, http.MethodGet: 2} {
		var guard fence.Guard
		var arrived atomic.Int32
		client := fenced(t, func(w http.ResponseWriter, _ *http.Request) {
			arrived.Add(1)
			guard.Drop()
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		_, err := client.Do(fence.With(t.Context(), &guard), Request{Method: method, Path: "/x", Body: []byte("{}")})
		if lapsed := errors.Is(err, fence.ErrLapsed); lapsed != (want == 1) || arrived.Load() != want {
			t.Errorf("%s: %d requests have arrived, want %d: %v", method, arrived.Load(), want, err)
		}
	}
}

func TestFence_LapseRefusesRetriesOfApplyAndDelete(t *testing.T) {
	for name, write := range map[string]func(context.Context, *Client) error{
		"apply": func(ctx context.Context, c *Client) error {
			_, err := c.Apply(ctx, examples, ApplyRequest{Namespace: "ns", Name: "n", Body: []byte("{}")})
			return err
		},
		"delete": func(ctx context.Context, c *Client) error { return c.Delete(ctx, examples, "ns", "n", DeleteOptions{}) },
	} {
		var guard fence.Guard
		var arrived atomic.Int32
		client := fenced(t, func(w http.ResponseWriter, _ *http.Request) {
			arrived.Add(1)
			guard.Drop()
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		ctx := fence.With(t.Context(), &guard)
		if err := write(ctx, client); !errors.Is(err, fence.ErrLapsed) || arrived.Load() != 1 {
			t.Errorf("%s: %d requests have arrived, want 1: %v", name, arrived.Load(), err)
		}
		if err := write(ctx, client); !errors.Is(err, fence.ErrLapsed) || arrived.Load() != 1 {
			t.Errorf("%s behind a closed fence: %d requests have arrived, want 1: %v", name, arrived.Load(), err)
		}
	}
}

func TestFence_DrainPermitsWrites(t *testing.T) {
	var guard fence.Guard
	guard.Drain()
	client := fenced(t, func(http.ResponseWriter, *http.Request) {})
	if _, err := client.Do(fence.With(t.Context(), &guard), Request{Method: http.MethodPatch, Path: "/x"}); err != nil {
		t.Error(err)
	}
}

func TestFence_WriteIsGivenUpAtTheDeadline(t *testing.T) {
	var guard fence.Guard
	guard.Renew(time.Now(), 200*time.Millisecond)
	done := make(chan struct{})
	defer close(done)
	var arrived atomic.Int32
	client := fenced(t, func(http.ResponseWriter, *http.Request) { arrived.Add(1); <-done })
	if _, err := client.Do(fence.With(t.Context(), &guard), Request{Method: http.MethodPatch, Path: "/x"}); !errors.Is(err, fence.ErrLapsed) {
		t.Error(err)
	}
	if n := arrived.Load(); n != 1 {
		t.Errorf("%d requests have arrived, want 1", n)
	}
}

// A process can be frozen between the check of a request and the moment in which the transport sends it.
func TestFence_LapseWhileTheRequestIsPreparedSendsNoBody(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		var guard fence.Guard
		var complete atomic.Bool
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err == nil {
				complete.Store(true)
			}
			if r.Proto != protocol {
				t.Errorf("the protocol is %s, want %s", r.Proto, protocol)
			}
		}))
		server.EnableHTTP2 = protocol == "HTTP/2.0"
		server.StartTLS()
		defer server.Close()
		config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{
			CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		}}
		if !server.EnableHTTP2 {
			config.NextProtos = []string{"http/1.1"}
		}
		session, err := NewSession(config, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		client := NewClient(Fixed(session), ClientOptions{})
		resp, err := client.Do(t.Context(), Request{Method: http.MethodPatch, Path: "/x", Body: []byte("{}")})
		if err != nil || !complete.Swap(false) {
			t.Fatalf("%s: an open fence refuses a request: %v, %v", protocol, resp, err)
		}
		ctx := httptrace.WithClientTrace(fence.With(t.Context(), &guard), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { guard.Drop() }})
		_, err = client.Do(ctx, Request{Method: http.MethodPatch, Path: "/x", Body: []byte("{}")})
		server.Close() // waits for the request
		if !errors.Is(err, fence.ErrLapsed) || complete.Load() {
			t.Errorf("%s: %v; the whole body has arrived: %t", protocol, err, complete.Load())
		}
	}
}

func TestFence_ClientsOfHandlersAreRefusedToo(t *testing.T) {
	var guard fence.Guard
	guard.Drop()
	client := fenced(t, func(http.ResponseWriter, *http.Request) { t.Error("a request has arrived") })
	config := Follow(client.source, nil)
	ctx := fence.With(context.WithoutCancel(t.Context()), &guard)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, config.Host+"/x", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: config.Transport}).Do(req)
	if resp != nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, fence.ErrLapsed) {
		t.Error(err)
	}
}
