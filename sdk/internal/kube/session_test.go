package kube

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// serverConnections counts the connections of a test server.
type serverConnections struct {
	http2  bool // also serve HTTP/2, over TLS
	opened atomic.Int32
	closed chan struct{} // one each
}

func (c *serverConnections) of(handler http.HandlerFunc) *httptest.Server {
	c.closed = make(chan struct{}, 10)
	server := httptest.NewUnstartedServer(handler)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			c.opened.Add(1)
		case http.StateClosed:
			c.closed <- struct{}{}
		}
	}
	if server.EnableHTTP2 = c.http2; c.http2 {
		server.StartTLS()
	} else {
		server.Start()
	}
	return server
}

func TestSession_ConnectTimeoutDefaultsTo30Seconds(t *testing.T) {
	for told, want := range map[time.Duration]time.Duration{0: 30 * time.Second, time.Second: time.Second, -1: 0} {
		if got := dialer(told).Timeout; got != want {
			t.Errorf("%s: %s", told, got)
		}
	}
}

func TestSession_SharesNoConnections(t *testing.T) {
	var conns serverConnections
	server := conns.of(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, example) })
	defer server.Close()
	for range 2 {
		session, err := NewSession(&rest.Config{Host: server.URL}, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		for range 3 {
			if _, err := NewClient(Fixed(session), ClientOptions{}).Get(t.Context(), examples, "ns", "n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := conns.opened.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

func TestSession_BulkRequestsHaveOneConnectionOfTheirOwn(t *testing.T) {
	conns := serverConnections{http2: true}
	served := make(chan string, 2)
	server := conns.of(func(w http.ResponseWriter, r *http.Request) {
		served <- r.RemoteAddr
		if !r.URL.Query().Has("watch") {
			_, _ = io.WriteString(w, example)
			return
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	t.Cleanup(server.Close)
	session, err := NewSession(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	client := NewClient(Fixed(session), ClientOptions{})
	get := func(ctx context.Context) string {
		if _, err := client.Get(ctx, examples, "ns", "n"); err != nil {
			t.Fatal(err)
		}
		return <-served
	}
	watch := func() string {
		stream, err := client.Watch(t.Context(), examples, "ns", ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stream.Close)
		return <-served
	}
	shared, bulk := watch(), get(InBulk(t.Context()))
	if shared == bulk || watch() != shared || get(t.Context()) != shared || get(InBulk(t.Context())) != bulk {
		t.Errorf("shared %s, bulk %s", shared, bulk)
	}
	if n := conns.opened.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

func TestSession_ClosedConnectionsEndWithTheLastStream(t *testing.T) {
	var conns serverConnections
	proceed := make(chan struct{})
	server := conns.of(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-proceed:
			_, _ = io.WriteString(w, `{"type":"ADDED","object":`+example+"}\n")
		case <-r.Context().Done():
		}
	})
	defer server.Close()
	session, err := NewSession(&rest.Config{Host: server.URL}, 0)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := NewClient(Fixed(session), ClientOptions{}).Watch(t.Context(), examples, "ns", ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	session.Close()
	close(proceed)
	if frame, err := stream.Next(); err != nil || frame.Object.Name != "n" {
		t.Fatal(frame, err)
	}
	if _, err := stream.Next(); err != io.EOF {
		t.Error(err)
	}
	stream.Close()
	for range conns.opened.Load() {
		select {
		case <-conns.closed:
		case <-time.After(time.Minute):
			t.Fatal("the connection is kept")
		}
	}
}

func TestNewSession_FailsForInvalidConfigurations(t *testing.T) {
	if _, err := NewConfigSource(&rest.Config{Host: "http://a b"}, 0); err == nil {
		t.Error("an address with a space")
	}
	if _, err := NewConfigSource(&rest.Config{Host: "https://x", TLSClientConfig: rest.TLSClientConfig{CAFile: "/does/not/exist"}}, 0); err == nil {
		t.Error("no certificate")
	}
}
