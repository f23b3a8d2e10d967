package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/internal/testmain"
	"github.com/kopf-dev/kopf/plan/copy"
	"github.com/kopf-dev/kopf/plan/source"
)

func TestMain(m *testing.M) {
	// The path of a socket is limited to about 100 characters.
	state, err := os.MkdirTemp("", "pp")
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", state)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testmain.Run(cleaning{m, state})
}

// cleaning removes the shared state after the tests.
type cleaning struct {
	goleak.TestingM
	state string
}

// Run implements [goleak.TestingM].
func (c cleaning) Run() int {
	code := c.TestingM.Run()
	err := os.RemoveAll(c.state)
	if shared.cluster != nil {
		err = errors.Join(err, shared.cluster.Close(context.Background()))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// shared is the cluster that is planned for. It is a copy, too, so that tests can give objects any state.
var shared struct {
	sync.Once
	cluster *devcluster.Cluster
	err     error
}

var copied = devcluster.Options{Provider: devcluster.Embedded, Ephemeral: true, Copy: true}

// theSource returns the cluster that all tests plan for, with a namespace for the test.
func theSource(t *testing.T, namespace string) *devcluster.Cluster {
	t.Helper()
	shared.Do(func() { shared.cluster, shared.err = devcluster.Open(context.Background(), copied) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	load(t, shared.cluster, copy.Definitions, kexDefinition)
	load(t, shared.cluster, namespaces, fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: %s, uid: uid-of-%s}, status: {phase: Active}}`, namespace, namespace))
	return shared.cluster
}

const kexDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kexes.example.com, uid: uid-of-definition, generation: 3}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: kexes, singular: kex, kind: Kex, listKind: KexList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}, subresources: {status: {}}}
status:
  storedVersions: [v1]
  acceptedNames: {plural: kexes, singular: kex, kind: Kex, listKind: KexList}
  conditions:
  - {type: NamesAccepted, status: "True", reason: NoConflicts, message: none, lastTransitionTime: "2020-01-01T00:00:00Z"}
  - {type: Established, status: "True", reason: InitialNamesAccepted, message: done, lastTransitionTime: "2020-01-01T00:00:00Z"}
`

var (
	kexes      = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "kexes"}
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	leases     = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

func object(t *testing.T, manifest string, args ...any) *unstructured.Unstructured {
	t.Helper()
	var o unstructured.Unstructured
	if err := yaml.Unmarshal(fmt.Appendf(nil, manifest, args...), &o.Object); err != nil {
		t.Fatal(err)
	}
	return &o
}

// load stores an object in a cluster, and waits until the cluster has it.
func load(t *testing.T, c *devcluster.Cluster, r schema.GroupVersionResource, manifest string) {
	t.Helper()
	o := object(t, "%s", manifest)
	if o.GetUID() == "" {
		o.SetUID(uuid.NewUUID())
	}
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Load(t.Context(), r.GroupResource(), []json.RawMessage{raw}); err != nil {
		t.Fatal(err)
	}
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	control, err := newControl(config)
	if err != nil {
		t.Fatal(err)
	}
	defer control.client.CloseIdleConnections()
	if err := control.await(t.Context(), r, o.GetNamespace(), o.GetName()); err != nil {
		t.Fatal(err)
	}
}

// trial is a proxy with its own control plane, and the operator's client.
type trial struct {
	*Proxy
	copy     *copy.Copy
	operator dynamic.Interface
	http     *http.Client
}

// try starts a proxy for a copy, with further options.
func try(t *testing.T, c *copy.Copy, o Options) *trial {
	t.Helper()
	control, err := devcluster.Open(t.Context(), copied)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := control.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	o.Copy, o.Load = c, control.Load
	if o.Control, err = control.RESTConfig(); err != nil {
		t.Fatal(err)
	}
	if o.Failed == nil {
		o.Failed = func(err error) { t.Errorf("the proxy failed: %v", err) }
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "pp")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := errors.Join(p.Close(), <-served, os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	out := &trial{Proxy: p, copy: c, http: &http.Client{Transport: transport}}
	if out.operator, err = dynamic.NewForConfigAndClient(&rest.Config{Host: "http://copy", QPS: -1}, out.http); err != nil {
		t.Fatal(err)
	}
	return out
}

// copyOf returns a copy of a cluster, as a user if there is one.
func copyOf(t *testing.T, c *devcluster.Cluster, user string, o copy.Options) *copy.Copy {
	t.Helper()
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate.UserName = user
	reader, err := source.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reader.Close)
	out, err := copy.New(t.Context(), reader, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func get(t *testing.T, client dynamic.Interface, r schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	o, err := client.Resource(r).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}
