package kube

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// The API server compresses streams for clients that accept it, and flushes each event.
func TestWatch_ReadsCompressedEventsAsTheyCome(t *testing.T) {
	read := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if accepted := r.Header.Get("Accept-Encoding"); accepted != "gzip" {
			t.Errorf("accepted: %q", accepted)
		}
		w.Header().Set("Content-Encoding", "gzip")
		zipped := gzip.NewWriter(w)
		for _, name := range []string{"a", "b"} {
			_, err := io.WriteString(zipped, frame(name))
			if err = errors.Join(err, zipped.Flush(), http.NewResponseController(w).Flush()); err != nil {
				t.Error(err)
			}
			select {
			case <-read:
			case <-r.Context().Done():
				return
			}
		}
		if err := zipped.Close(); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	given, err := NewConfigSource(&rest.Config{Host: server.URL}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer given.Close()
	stream, err := NewClient(given, ClientOptions{}).Watch(t.Context(), examples, "", ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for _, want := range []string{"a", "b"} {
		f, err := stream.Next()
		if err != nil || f.Object.Name != want {
			t.Fatal(want, f, err)
		}
		read <- struct{}{}
	}
	if f, err := stream.Next(); !errors.Is(err, io.EOF) {
		t.Error(f, err)
	}
}
