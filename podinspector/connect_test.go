package podinspector

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// cluster is an API server with pods, whose ports it forwards to this machine as kubelets do.
type cluster struct {
	t        *testing.T
	forwards string // the address that all ports lead to

	mu      sync.Mutex
	objects map[string]any // keyed by path
	ports   []string       // pod:port of each port-forward
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if pod, ok := strings.CutSuffix(r.URL.Path, "/portforward"); ok {
		c.forward(w, r, pod[strings.LastIndex(pod, "/")+1:])
		return
	}
	c.mu.Lock()
	object := c.objects[r.URL.Path+strings.TrimSuffix("?"+r.URL.Query().Get("labelSelector"), "?")]
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if object == nil {
		w.WriteHeader(http.StatusNotFound)
		object = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": r.URL.Path + " not found"}
	}
	if err := json.NewEncoder(w).Encode(object); err != nil {
		c.t.Error(err)
	}
}

func (c *cluster) forward(w http.ResponseWriter, r *http.Request, pod string) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return // it is answered
	}
	streams := make(chan httpstream.Stream, 8)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if conn == nil {
		return
	}
	defer conn.Close()
	failures, data := <-streams, <-streams
	_ = failures.Close()
	c.mu.Lock()
	c.ports = append(c.ports, pod+":"+data.Headers().Get("port"))
	c.mu.Unlock()
	target, err := net.Dial("tcp", c.forwards)
	if err != nil {
		c.t.Error(err)
		return
	}
	done := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(target, data); done <- struct{}{} }()
	go func() { _, _ = io.Copy(data, target); done <- struct{}{} }()
	<-done
	_, _ = target.Close(), data.Close()
	<-done
}

// newCluster returns a cluster with an inspector behind each port, which wants a token.
func newCluster(t *testing.T) (*cluster, *rest.Config) {
	t.Helper()
	t.Setenv(inspect.TokenVariable, "")
	inspector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(inspect.VersionHeader, fmt.Sprint(inspect.Version))
		if r.Header.Get("Authorization") != "Bearer hush" {
			http.Error(w, "wrong token", http.StatusUnauthorized)
			return
		}
		if err := json.NewEncoder(w).Encode(inspect.Snapshot{Version: inspect.Version, Operator: inspect.Operator{PID: 7}}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(inspector.Close)
	c := &cluster{t: t, forwards: inspector.Listener.Addr().String(), objects: map[string]any{}}
	server := httptest.NewTLSServer(c)
	t.Cleanup(server.Close)
	return c, &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

func (c *cluster) put(path string, object any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.objects[path] = object
}

// pod returns a pod whose container has arguments, and a token that a secret has.
func pod(name, created string, ready bool, args ...any) map[string]any {
	status := "False"
	if ready {
		status = "True"
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name, "namespace": "ops", "creationTimestamp": created},
		"spec": map[string]any{"containers": []any{
			map[string]any{"name": "proxy"},
			map[string]any{"name": "operator", "args": args, "env": []any{map[string]any{
				"name":      inspect.TokenVariable,
				"valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "inspector", "key": "token"}},
			}}},
		}},
		"status": map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": status}}},
	}
}

var secret = map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "inspector"}, "data": map[string]any{"token": "aHVzaA=="}}

func TestConnect_ReadsOperatorOfDeployment(t *testing.T) {
	c, config := newCluster(t)
	c.put("/api/v1/namespaces/ops/secrets/inspector", secret)
	c.put("/apis/apps/v1/namespaces/ops/deployments/operator", map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "operator"},
		"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "operator"}}},
	})
	list := func(pods ...any) {
		c.put("/api/v1/namespaces/ops/pods?app=operator", map[string]any{"apiVersion": "v1", "kind": "PodList", "items": pods})
	}
	flag := "--inspect=tcp:127.0.0.1:7071"
	list(pod("old", "2026-01-01T00:00:00Z", true, flag), pod("new", "2026-01-02T00:00:00Z", true, flag), pod("newest", "2026-01-03T00:00:00Z", false, flag))
	target, ok := ParseTarget("deploy/operator", "ops")
	if !ok {
		t.Fatal("it is no target")
	}
	client, err := Connect(t.Context(), config, target)
	if err != nil {
		t.Fatal(err)
	}
	read := func() {
		t.Helper()
		s, err := client.Snapshot(t.Context())
		if err != nil || s.Operator.PID != 7 {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	read()
	list(pod("next", "2026-01-04T00:00:00Z", true, "--inspect", "tcp:127.0.0.1:7072"))
	read()
	if got := strings.Join(c.ports, " "); got != "new:7071 next:7072" {
		t.Errorf("the ports are %s", got)
	}
	list()
	if _, err := client.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "deployment ops/operator: none of its pods is running") {
		t.Errorf("without pods: %v", err)
	}
}

func TestConnect_SaysWhatIsMissing(t *testing.T) {
	without := pod("p", "2026-01-01T00:00:00Z", true, "--inspect=tcp:127.0.0.1:7071")
	without["spec"].(map[string]any)["containers"] = []any{map[string]any{"args": []any{"--inspect=tcp:127.0.0.1:7071"}}}
	pending := pod("p", "2026-01-01T00:00:00Z", true, "--inspect=tcp:127.0.0.1:7071")
	pending["status"] = map[string]any{"phase": "Pending"}
	for name, test := range map[string]struct {
		pod, secret map[string]any
		port        int
		want        string
	}{
		"no pod":            {nil, secret, 0, "pod ops/p: /api/v1/namespaces/ops/pods/p not found"},
		"no flag":           {pod("p", "2026-01-01T00:00:00Z", true), secret, 0, "no container with --inspect"},
		"a socket":          {pod("p", "2026-01-01T00:00:00Z", true, "--inspect=unix:/tmp/s"), secret, 0, "no container with --inspect"},
		"not running":       {pending, secret, 0, "is not running: it is pending"},
		"no secret":         {pod("p", "2026-01-01T00:00:00Z", true, "--inspect=tcp:127.0.0.1:7071"), nil, 0, "or set KOPF_INSPECTOR_TOKEN here"},
		"its own token":     {without, secret, 0, "does not tell its token"},
		"port without flag": {pod("p", "2026-01-01T00:00:00Z", true), secret, 7073, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, config := newCluster(t)
			if test.pod != nil {
				c.put("/api/v1/namespaces/ops/pods/p", test.pod)
			}
			if test.secret != nil {
				c.put("/api/v1/namespaces/ops/secrets/inspector", test.secret)
			}
			client, err := Connect(t.Context(), config, Target{Namespace: "ops", Name: "p", Port: test.port})
			if err == nil {
				_, err = client.Snapshot(context.WithoutCancel(t.Context()))
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestParseTarget_PodsAndDeployments(t *testing.T) {
	for word, want := range map[string]Target{
		"pod/a": {Name: "a", Namespace: "ns"}, "deployment/b": {Name: "b", Namespace: "ns", Deployment: true},
	} {
		if got, ok := ParseTarget(word, "ns"); got != want || !ok {
			t.Errorf("%s is %+v", word, got)
		}
	}
	for _, word := range []string{"unix:/tmp/pod/a", "pod/", "pod", "pod/a/b", "svc/a", ""} {
		if got, ok := ParseTarget(word, "ns"); ok {
			t.Errorf("%q is %+v", word, got)
		}
	}
}
