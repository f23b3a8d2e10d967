package k3d

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// expectNoEngine fails unless connect returns this error.
func expectNoEngine(t *testing.T, says string) {
	t.Helper()
	e, err := connect(t.Context(), 100*time.Millisecond)
	if err == nil {
		_ = e.Close()
	}
	if !errors.Is(err, fault.ErrNoEngine) || !strings.Contains(err.Error(), says) {
		t.Errorf("the error is %v, want %q", err, says)
	}
}

// socket listens on a Unix socket, and makes it the engine.
func socket(t *testing.T) net.Listener {
	t.Helper()
	dir, err := os.MkdirTemp("", "kopf-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "docker.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	t.Setenv("DOCKER_HOST", "unix://"+path)
	return l
}

func TestConnect_NoEngine(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	expectNoEngine(t, "no Docker engine answers at unix:///nowhere/docker.sock")
}

func TestConnect_HangingEngine(t *testing.T) {
	socket(t) // accepts connections, and never answers
	began := time.Now()
	expectNoEngine(t, "does not answer within 100ms")
	if took := time.Since(began); took > 30*time.Second { // nothing else would end it
		t.Errorf("it takes %s", took)
	}
}

func TestConnect_BrokenEngine(t *testing.T) {
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "starting up", http.StatusServiceUnavailable)
	})}
	l := socket(t)
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	expectNoEngine(t, "reports an error")
}

func TestConnect_UnusableConfiguration(t *testing.T) {
	for host, says := range map[string]string{
		"tcp://192.0.2.1:2375":     "is not on this machine",
		"nonsense":                 "DOCKER_HOST",
		"unix://":                  "no Docker engine answers",
		"ssh://somebody@192.0.2.1": "is not on this machine",
	} {
		t.Setenv("DOCKER_HOST", host)
		expectNoEngine(t, says)
	}
	os.Unsetenv("DOCKER_HOST")
	t.Setenv("DOCKER_CONTEXT", "no-such-context")
	expectNoEngine(t, "no-such-context")
	t.Setenv("DOCKER_CONTEXT", "")
	file := filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json")
	if err := os.WriteFile(file, []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file)
	expectNoEngine(t, "config.json")
}

func TestIsLocal_OnlyThisMachine(t *testing.T) {
	for endpoint, want := range map[string]bool{
		"unix:///var/run/docker.sock": true, "npipe:////./pipe/docker_engine": true,
		"tcp://127.0.0.1:2375": true, "tcp://localhost:2376": true, "https://[::1]:2376": true,
		"tcp://192.0.2.1:2375": false, "http://docker.example.com": false, "tcp://engine.test": false, "%": false,
	} {
		if got := isLocal(endpoint); got != want {
			t.Errorf("%s: %t", endpoint, got)
		}
	}
}
