package inspect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serve serves the hub on a socket, and returns its address and a function that stops it.
func serve(t *testing.T, hub *Hub) (address string, stop func() error) {
	t.Helper()
	address = "unix:" + filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(t.Context())
	listener, err := listen(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serveOn(ctx, listener, hub) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return address, stop
}

func dial(t *testing.T, address string) *Client {
	t.Helper()
	client, err := Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestClient_SnapshotAndStream(t *testing.T) {
	hub := NewHub(HubOptions{})
	hub.PutObject(object(1, "1"))
	address, _ := serve(t, hub)
	client := dial(t, address)

	snapshot, err := client.Snapshot(t.Context())
	if err != nil || len(snapshot.Objects) != 1 {
		t.Fatalf("%+v, %v", snapshot, err)
	}
	var seen []int
	for s, err := range client.Stream(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, len(s.Objects))
		switch len(s.Objects) {
		case 1:
			hub.PutObject(object(2, "2"))
		case 2:
			hub.PutObject(object(3, "3"))
			hub.Bye("done")
		}
	}
	if fmt.Sprint(seen) != "[1 2 3]" {
		t.Errorf("it saw %v objects", seen)
	}
}

func TestServe_LoopbackPort(t *testing.T) {
	hub := NewHub(HubOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	listener, err := listen(ctx, "tcp:127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serveOn(ctx, listener, hub) }()
	if _, err := dial(t, "tcp:"+listener.Addr().String()).Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServe_RejectsOtherAddresses(t *testing.T) {
	for _, address := range []string{
		"", "unix:", "tcp:", "tcp:8080", "tcp::8080", "tcp:0.0.0.0:8080", "tcp:[::]:8080", "tcp:example.com:80",
		"http://127.0.0.1:80", "unix:" + strings.Repeat("x", 200),
	} {
		_, err := Dial(address)
		served := Serve(t.Context(), address, NewHub(HubOptions{}))
		for _, err := range []error{err, served} {
			if _, ok := errors.AsType[*AddressError](err); !ok {
				t.Errorf("%q: %v", address, err)
			}
		}
	}
}

func TestServe_ReplacesOnlyStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listen(t.Context(), "unix:"+path); err == nil {
		t.Fatal("a socket in use was taken over")
	}
	left.SetUnlinkOnClose(false) // as if it had been killed
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	listener, err := listen(t.Context(), "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
}

func TestClient_IntentsAreAnswered(t *testing.T) {
	var got Intent
	hub := NewHub(HubOptions{Intents: func(in Intent) Reply {
		got = in
		if in.Kind == IntentRetry {
			return Reply{Error: "nothing to retry"}
		}
		return Reply{OK: true}
	}})
	address, _ := serve(t, hub)
	client := dial(t, address)
	if err := client.Do(t.Context(), Intent{Kind: IntentPause}); err != nil {
		t.Error(err)
	}
	err := client.Do(t.Context(), Intent{Kind: IntentRetry, Object: &Ref{Name: "x"}})
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok || refused.Reason != "nothing to retry" || got.Object.Name != "x" {
		t.Errorf("%v, of %+v", err, got)
	}
}

func TestServe_MalformedIntentIsBadRequest(t *testing.T) {
	w := httptest.NewRecorder()
	protocol(NewHub(HubOptions{})).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost"+intentsPath, strings.NewReader("{")))
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "decode the intent") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestServe_RefusesWebPages(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"an origin":      func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"a foreign host": func(r *http.Request) { r.Host = "evil.example:80" },
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+snapshotPath, nil)
		change(r)
		w := httptest.NewRecorder()
		protocol(NewHub(HubOptions{})).ServeHTTP(w, r)
		if w.Code != http.StatusForbidden {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
}

func TestClient_OtherVersionIsVersionError(t *testing.T) {
	for theirs, want := range map[string]string{
		"7": "speaks version 7 of the protocol, this program version 1",
		"":  "not an operator's inspector",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(versionHeader, theirs)
			w.WriteHeader(http.StatusNotFound)
		}))
		_, err := dial(t, "tcp:"+server.Listener.Addr().String()).Snapshot(t.Context())
		if mismatch, ok := errors.AsType[*VersionError](err); !ok || mismatch.Theirs != theirs || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", theirs, err)
		}
		server.Close()
	}
}

func TestClient_KilledOperatorBreaksStream(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(versionHeader, "1")
		_, _ = io.WriteString(w, `{"revision":1,"snapshot":{"version":1}}`+"\n")
	}))
	defer server.Close()
	var last error
	for _, err := range dial(t, "tcp:"+server.Listener.Addr().String()).Stream(t.Context()) {
		last = err
	}
	if !errors.Is(last, io.ErrUnexpectedEOF) {
		t.Errorf("it ended with %v", last)
	}
}

func TestServe_SendsLastChangesAtTheEnd(t *testing.T) {
	hub := NewHub(HubOptions{Interval: time.Hour}) // so that only the end sends them
	address, stop := serve(t, hub)
	var last Message
	for m, err := range dial(t, address).Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Snapshot != nil {
			hub.PutObject(object(1, "1"))
			hub.Bye("stopped")
			go func() { _ = stop() }() // its error is seen at the test's end
		}
		last = m
	}
	if last.Bye == nil || *last.Bye != "stopped" {
		t.Errorf("the last message is %+v", last)
	}
}

func TestServe_BlockedReaderDelaysNoOther(t *testing.T) {
	hub := NewHub(HubOptions{Interval: time.Nanosecond, LogLines: 10})
	address, stop := serve(t, hub)
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "unix", strings.TrimPrefix(address, "unix:"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "GET "+streamPath+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	// It reads the first line, so that it is known to be subscribed, and then no more.
	if _, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil {
		t.Fatal(err)
	}

	big := strings.Repeat("x", 1000)
	for n := range 50_000 { // far more than the buffers between the two hold
		o := object(n%1000, fmt.Sprint(n))
		o.Kind = big
		hub.PutObject(o)
		hub.Log(LogLine{Level: "info", Message: big})
	}
	// Meanwhile another reader is served, and is up to date.
	snapshot, err := dial(t, address).Snapshot(t.Context())
	if err != nil || len(snapshot.Objects) != 1000 || snapshot.Revision != hub.Snapshot().Revision {
		t.Errorf("%v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
