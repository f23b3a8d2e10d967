package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
)

// load stores objects through the socket of a cluster that was started with --copy.
func (c *cluster) load(t *testing.T, resource schema.GroupResource, objects ...any) error {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(filepath.Dir(c.Kubeconfig), "load.sock"))
	}}
	defer transport.CloseIdleConnections()
	var body bytes.Buffer
	for _, object := range objects {
		if err := json.NewEncoder(&body).Encode(object); err != nil {
			t.Fatal(err)
		}
	}
	query := url.Values{"group": {resource.Group}, "resource": {resource.Resource}}
	resp, err := (&http.Client{Transport: transport}).Post("http://load/?"+query.Encode(), "application/json", &body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("%s: %s", resp.Status, answer)
	}
	return nil
}

// discovery returns a client for the APIs of the server, which can also get paths that are no resources.
func (c *cluster) discovery(t *testing.T) *discovery.DiscoveryClient {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// unloadable are the built-in resources of which no object is stored.
var unloadable = []string{"bindings", "componentstatuses"}

// TestLoad_EveryBuiltInResource loads an object of each resource that the server stores, and gets it from the server: an
// object under a wrong key is not found.
func TestLoad_EveryBuiltInResource(t *testing.T) {
	c := start(t, "--ephemeral", "--copy")
	lists, err := c.discovery(t).ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "get") || !slices.Contains(r.Verbs, "create") || slices.Contains(unloadable, r.Name) {
				continue
			}
			tried++
			gvr := gv.WithResource(r.Name)
			t.Run(gvr.GroupResource().String(), func(t *testing.T) {
				want := &unstructured.Unstructured{}
				want.SetGroupVersionKind(gv.WithKind(r.Kind))
				want.SetName(loadedName(r))
				want.SetUID("11111111-2222-3333-4444-555555555555")
				want.SetGeneration(7)
				if r.Namespaced {
					want.SetNamespace("somewhere")
				}
				if err := c.load(t, gvr.GroupResource(), want); err != nil {
					t.Fatal(err)
				}
				got := c.get(t, gvr, want.GetNamespace(), want.GetName())
				if got.GetUID() != want.GetUID() || got.GetGeneration() != want.GetGeneration() {
					t.Errorf("the loaded object has the uid %s and the generation %d, want %s and %d",
						got.GetUID(), got.GetGeneration(), want.GetUID(), want.GetGeneration())
				}
			})
		}
	}
	if tried < 50 {
		t.Errorf("%d resources were tried, want those of a whole server", tried)
	}
}

// loadedName returns a name that the server accepts: API services are named after their group and version.
func loadedName(r metav1.APIResource) string {
	if r.Name == "apiservices" {
		return "v1.example.com"
	}
	return "loaded"
}

const copiedDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kexes.example.com, uid: aaaa-1, generation: 3}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: kexes, singular: kex, kind: Kex, listKind: KexList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}, subresources: {status: {}}}
status:
  storedVersions: [v1]
  acceptedNames: {plural: kexes, singular: kex, kind: Kex, listKind: KexList}
  conditions: [{type: NamesAccepted, status: "True", reason: NoConflicts, message: none, lastTransitionTime: "2020-01-01T00:00:00Z"},
    {type: Established, status: "True", reason: InitialNamesAccepted, message: done, lastTransitionTime: "2020-01-01T00:00:00Z"}]
`

// TestLoad_KeepsWhatTheServerWouldSet loads a definition and objects in the middle of their lives, also while a watch is open.
func TestLoad_KeepsWhatTheServerWouldSet(t *testing.T) {
	c := start(t, "--ephemeral", "--copy")
	kexes := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "kexes"}
	if err := c.load(t, crds.GroupResource(), object(t, copiedDefinition)); err != nil {
		t.Fatal(err)
	}
	if err := c.load(t, namespaces.GroupResource(), object(t, `{apiVersion: v1, kind: Namespace, metadata: {name: somewhere, uid: dddd-4}, status: {phase: Active}}`)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the definition is served", func(ctx context.Context) (bool, error) {
		_, err := c.client.Resource(kexes).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	w, err := c.client.Resource(kexes).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	want := object(t, `
apiVersion: example.com/v1
kind: Kex
metadata:
  name: dying
  namespace: somewhere
  uid: bbbb-2
  generation: 9
  resourceVersion: "12345678"
  creationTimestamp: "2021-02-03T04:05:06Z"
  deletionTimestamp: "2021-02-03T05:05:06Z"
  deletionGracePeriodSeconds: 0
  finalizers: [example.com/hold]
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: cccc-3}]
spec: {size: 1}
status: {phase: Going}
`)
	if err := c.load(t, kexes.GroupResource(), want); err != nil {
		t.Fatal(err)
	}
	got := c.get(t, kexes, "somewhere", "dying")
	version := got.GetResourceVersion()
	want.SetResourceVersion(version)
	if g, w := asJSON(t, got), asJSON(t, want); g != w {
		t.Errorf("the server has\n%s\nwant\n%s", g, w)
	}
	select {
	case event := <-w.ResultChan():
		if o, ok := event.Object.(*unstructured.Unstructured); !ok || o.GetResourceVersion() != version {
			t.Errorf("the watch delivers %v, want the loaded object of version %s", event, version)
		}
	case <-t.Context().Done():
		t.Error("the watch delivers nothing")
	}
	// It is an object as any other.
	patch := `{"metadata":{"finalizers":[]}}`
	if _, err := c.client.Resource(kexes).Namespace("somewhere").Patch(t.Context(), "dying", "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the object without finalizers is deleted", c.gone(kexes, "somewhere", "dying"))
}

// TestLoad_RefusesUnreadable shows that objects are refused that would make the server fail to list their resource.
func TestLoad_RefusesUnreadable(t *testing.T) {
	c := start(t, "--ephemeral", "--copy")
	refused := map[string]string{
		"no kind":              `{apiVersion: v1, metadata: {name: a, namespace: default, uid: a}}`,
		"no name":              `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, uid: a}}`,
		"another group":        `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: default, uid: a}}`,
		"no uid":               `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}`,
		"an unknown version":   `{apiVersion: v7, kind: ConfigMap, metadata: {name: a, namespace: default, uid: a}}`,
		"a field of this type": `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, uid: a}, data: [1]}`,
	}
	for name, manifest := range refused {
		t.Run(name, func(t *testing.T) {
			if err := c.load(t, configMaps.GroupResource(), object(t, "%s", manifest)); err == nil || !strings.Contains(err.Error(), "configmaps") {
				t.Errorf("loading ended with %v, want a refusal that names the resource", err)
			}
		})
	}
	if _, err := c.client.Resource(configMaps).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("listing the resource afterwards: %v", err)
	}
}

// TestCopy_SavesMemory compares the settings of a copy and of a development cluster, in which each value differs.
func TestCopy_SavesMemory(t *testing.T) {
	t.Setenv("GOGC", "")
	const caches, percentage = "\napiserver_watch_cache_initializations_total{", "\ngo_gc_gogc_percent 150\n"
	for _, test := range []struct {
		args  []string
		saves bool
	}{{[]string{"--ephemeral", "--copy"}, true}, {[]string{"--ephemeral", "--node=false"}, false}} {
		c := start(t, test.args...)
		metrics, err := c.discovery(t).RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := !bytes.Contains(metrics, []byte(caches)); got != test.saves {
			t.Errorf("with %v, the server has no cache: %t, want %t", test.args, got, test.saves)
		}
		if got := bytes.Contains(metrics, []byte(percentage)); got != test.saves {
			t.Errorf("with %v, the garbage collector runs as for copies: %t, want %t", test.args, got, test.saves)
		}
	}
}

func asJSON(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	out, err := json.MarshalIndent(o, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
