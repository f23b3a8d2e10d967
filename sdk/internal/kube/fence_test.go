package kube

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
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
	client := fenced(t, func(http.ResponseWriter, *http.Request) { <-done })
	if _, err := client.Do(fence.With(t.Context(), &guard), Request{Method: http.MethodPatch, Path: "/x"}); !errors.Is(err, fence.ErrLapsed) {
		t.Error(err) // of the retry
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
