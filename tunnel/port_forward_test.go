package tunnel

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// kubelet is an API server that forwards ports of the pod "default/relay", as kubelets do: with the
// server's side of the protocol of Kubernetes.
type kubelet struct {
	t       *testing.T
	control string // the address that the ports lead to

	mu    sync.Mutex
	conns []httpstream.Connection
}

func (f *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/v1/namespaces/default/pods/relay/portforward" || r.Header.Get("Authorization") != "Bearer secret" {
		http.Error(w, "pods \"other\" not found", http.StatusNotFound)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return // it is answered
	}
	streams := make(chan httpstream.Stream, 8)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, replied <-chan struct{}) error {
		streams <- s
		return nil
	})
	if conn == nil {
		return
	}
	f.mu.Lock()
	f.conns = append(f.conns, conn)
	f.mu.Unlock()
	defer conn.Close()
	failures := <-streams
	data := <-streams
	if failures.Headers().Get("streamType") != "error" || data.Headers().Get("streamType") != "data" || data.Headers().Get("port") != strconv.Itoa(relayControlPort) {
		f.t.Errorf("the streams are %v and %v", failures.Headers(), data.Headers())
	}
	target, err := net.Dial("tcp", f.control)
	if err != nil {
		fmt.Fprintf(failures, "an error occurred forwarding: %v", err)
		_ = failures.Close()
		<-conn.CloseChan()
		return
	}
	defer target.Close()
	_ = failures.Close()
	done := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(target, data); done <- struct{}{} }()
	go func() { _, _ = io.Copy(data, target); done <- struct{}{} }()
	<-done
	_, _ = target.Close(), data.Close()
	<-done
}

// drop breaks all port-forwards.
func (f *kubelet) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range f.conns {
		_ = conn.Close()
	}
	f.conns = nil
}

// newKubelet returns the API server, and a configuration for it.
func newKubelet(t *testing.T, control string) (*kubelet, *rest.Config) {
	t.Helper()
	f := &kubelet{t: t, control: control}
	server := httptest.NewTLSServer(f)
	t.Cleanup(func() {
		f.drop()
		server.Close()
	})
	return f, &rest.Config{Host: server.URL, BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

// echo answers each line at a port of this machine.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		serving.Wait()
	})
	return listener.Addr().String()
}

func TestForwardPort_CarriesBytesBothWays(t *testing.T) {
	_, config := newKubelet(t, echo(t))
	stream, err := forwardPort(t.Context(), config, "default", "relay", relayControlPort)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("0123456789", 100_000)
	go func() {
		if _, err := io.WriteString(stream, text); err != nil {
			t.Error(err)
		}
	}()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(stream, got); err != nil || string(got) != text {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
}

func TestForwardPort_FailureIsThatOfNode(t *testing.T) {
	_, config := newKubelet(t, fmt.Sprintf("127.0.0.1:%d", closedPort(t)))
	stream, err := forwardPort(t.Context(), config, "default", "relay", relayControlPort)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if _, err := io.ReadAll(stream); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("the error is %v", err)
	}
}

func TestForwardPort_UnknownPodIsNamed(t *testing.T) {
	_, config := newKubelet(t, "")
	if _, err := forwardPort(t.Context(), config, "default", "other", relayControlPort); err == nil || !strings.Contains(err.Error(), "pod default/other") {
		t.Errorf("the error is %v", err)
	}
}

func TestForwardPort_EndsWithItsConnection(t *testing.T) {
	f, config := newKubelet(t, echo(t))
	stream, err := forwardPort(t.Context(), config, "default", "relay", relayControlPort)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	read := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(stream)
		read <- err
	}()
	f.drop()
	<-read
	// The read may end a moment before the connection does.
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := io.WriteString(stream, "x"); err != nil {
			return
		}
		select {
		case <-deadline:
			t.Fatal("it writes to a connection that has ended")
		case <-tick.C:
		}
	}
}
