package objects_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/internal/objects"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// config is the client configuration of the cluster that all tests share.
var config *rest.Config

func TestMain(m *testing.M) {
	code, err := withCluster(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func withCluster(m *testing.M) (code int, err error) {
	state, err := os.MkdirTemp("", "objects-test-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(state)) }()
	if err := os.Setenv("XDG_STATE_HOME", state); err != nil {
		return 0, err
	}
	ctx := context.Background()
	c, err := devcluster.Open(ctx, devcluster.Options{Provider: devcluster.Embedded, Ephemeral: true})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	if config, err = c.RESTConfig(); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

func client() *objects.Client {
	return &objects.Client{Config: func() (*rest.Config, error) { return config, nil }}
}

// cluster creates and changes objects in a namespace of its own, as others do.
type cluster struct {
	t         *testing.T
	client    dynamic.Interface
	namespace string
}

var (
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	events     = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

func newCluster(t *testing.T) *cluster {
	t.Helper()
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	namespaces := dyn.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	ns, err := namespaces.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "test-"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{t, dyn, ns.GetName()}
}

type tree = map[string]any

// create creates an object and returns its identity.
func (c *cluster) create(res schema.GroupVersionResource, kind, name string, fields tree) inspect.Ref {
	c.t.Helper()
	o := tree{"apiVersion": "v1", "kind": kind, "metadata": tree{"name": name}}
	for key, value := range fields {
		if key == "metadata" {
			for k, v := range value.(tree) {
				o["metadata"].(tree)[k] = v
			}
			continue
		}
		o[key] = value
	}
	made, err := c.client.Resource(res).Namespace(c.namespace).Create(c.t.Context(), &unstructured.Unstructured{Object: o}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return inspect.Ref{Resource: res.Resource + ".v1", Namespace: c.namespace, Name: name, UID: string(made.GetUID())}
}

func (c *cluster) configMap(name string, fields tree) inspect.Ref {
	c.t.Helper()
	return c.create(configMaps, "ConfigMap", name, fields)
}

func (c *cluster) get(name string) *unstructured.Unstructured {
	c.t.Helper()
	o, err := c.client.Resource(configMaps).Namespace(c.namespace).Get(c.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return o
}

// change sets a value in the data of a ConfigMap.
func (c *cluster) change(name, key, value string) {
	c.t.Helper()
	o := c.get(name)
	if err := unstructured.SetNestedField(o.Object, value, "data", key); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.client.Resource(configMaps).Namespace(c.namespace).Update(c.t.Context(), o, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// watch follows a facet until the test ends. until waits for a matching view of the object.
func watch(t *testing.T, c *objects.Client, look runner.Look) (until func(what string, is func(runner.Looked) bool)) {
	t.Helper()
	seen := make(chan runner.Looked)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Watch(ctx, look, func(l runner.Looked) {
			select {
			case seen <- l:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return func(what string, is func(runner.Looked) bool) {
		t.Helper()
		late := time.After(time.Minute)
		var last runner.Looked
		for {
			select {
			case last = <-seen:
				if is(last) {
					return
				}
			case <-late:
				t.Fatalf("not %s: %+v", what, last)
			}
		}
	}
}

func TestWatch_ObjectIsFollowedUntilItIsDeleted(t *testing.T) {
	c := newCluster(t)
	ref := c.configMap("x", tree{"data": tree{"size": "1"}})
	until := watch(t, client(), runner.Look{Object: ref, Facet: runner.FacetObject})
	has := func(line string) func(runner.Looked) bool {
		return func(l runner.Looked) bool { return l.Loaded && l.Error == "" && slices.Contains(l.YAML, line) }
	}
	until("read", has("  size: \"1\""))
	c.change("x", "size", "2")
	until("changed", has("  size: \"2\""))
	if err := client().Delete(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	until("deleted", func(l runner.Looked) bool {
		return strings.Contains(l.Error, "404 not found") && slices.Contains(l.YAML, "  size: \"2\"") // as seen last
	})
}

func TestWatch_ErrorsAreReported(t *testing.T) {
	until := watch(t, client(), runner.Look{Object: inspect.Ref{Resource: "configmaps.v1", Namespace: "none", Name: "x"}, Facet: runner.FacetObject})
	until("404", func(l runner.Looked) bool {
		return !l.Loaded && strings.Contains(l.Error, "404 not found: configmaps \"x\" not found")
	})

	// This user has no permissions.
	stranger := &objects.Client{Config: func() (*rest.Config, error) {
		c := rest.CopyConfig(config)
		c.Impersonate.UserName = "stranger"
		return c, nil
	}}
	for _, facet := range []runner.Facet{runner.FacetObject, runner.FacetEvents} {
		until := watch(t, stranger, runner.Look{Object: inspect.Ref{Resource: "configmaps.v1", Namespace: "default", Name: "x"}, Facet: facet})
		until("403", func(l runner.Looked) bool {
			return !l.Loaded && strings.Contains(l.Error, "403 forbidden") && strings.Contains(l.Error, "stranger")
		})
	}
}

func TestWatch_EventsOfThisObjectNewestLast(t *testing.T) {
	c := newCluster(t)
	ref := c.configMap("x", nil)
	until := watch(t, client(), runner.Look{Object: ref, Facet: runner.FacetEvents})
	until("read", func(l runner.Looked) bool { return l.Loaded && len(l.Events) == 0 })
	event := func(name, uid, kind, message, at string, count int64) {
		c.create(events, "Event", name, tree{
			"involvedObject": tree{"kind": "ConfigMap", "namespace": c.namespace, "name": "x", "uid": uid},
			"type":           kind, "reason": "Tested", "message": message, "lastTimestamp": at, "count": count, "source": tree{"component": "test"},
		})
	}
	event("b", ref.UID, "Normal", "the second", "2026-11-22T12:00:02Z", 1)
	event("other", "another", "Normal", "of another object", "2026-11-22T12:00:03Z", 1)
	event("a", ref.UID, "Warning", "the first", "2026-11-22T12:00:01Z", 7)
	until("both", func(l runner.Looked) bool {
		if len(l.Events) != 2 {
			return false
		}
		want := []runner.Event{
			{At: time.Date(2026, 11, 22, 12, 0, 1, 0, time.UTC), Warning: true, Reason: "Tested", Message: "the first", From: "test", Count: 7},
			{At: time.Date(2026, 11, 22, 12, 0, 2, 0, time.UTC), Reason: "Tested", Message: "the second", From: "test", Count: 1},
		}
		if diff := cmp.Diff(want, l.Events); diff != "" {
			t.Error(diff)
		}
		return true
	})
}

func draft(t *testing.T, ref inspect.Ref, hidden ...[]string) *runner.Draft {
	t.Helper()
	d, err := client().Draft(t.Context(), ref, hidden)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSave_ChangesOfOthersStay(t *testing.T) {
	c := newCluster(t)
	ref := c.configMap("x", tree{"data": tree{"mine": "1", "theirs": "1", "gone": "1"}})
	d := draft(t, ref)
	if strings.Contains(d.Text, "resourceVersion") || strings.Contains(d.Text, "managedFields") {
		t.Errorf("the text has what cannot be edited: %s", d.Text)
	}
	c.change("x", "theirs", "2") // the version is another one by now
	text := strings.Replace(strings.Replace(d.Text, `mine: "1"`, `mine: "2"`, 1), "  gone: \"1\"\n", "", 1)
	changed, err := client().Save(t.Context(), d, text)
	if err != nil || strings.Join(changed, " ") != "data.gone data.mine" {
		t.Fatalf("changed %q, %v", changed, err)
	}
	if diff := cmp.Diff(any(tree{"mine": "2", "theirs": "2"}), c.get("x").Object["data"]); diff != "" {
		t.Error(diff)
	}
	if changed, err := client().Save(t.Context(), d, d.Text); err != nil || changed != nil {
		t.Errorf("an unchanged text changes %q, %v", changed, err)
	}
}

func TestSave_ConflictNamesFieldsAndGoesOnFromTheirs(t *testing.T) {
	c := newCluster(t)
	ref := c.configMap("x", tree{"data": tree{"size": "1", "other": "1"}})
	d := draft(t, ref)
	c.change("x", "size", "9")
	c.change("x", "other", "9")
	_, err := client().Save(t.Context(), d, strings.Replace(d.Text, `size: "1"`, `size: "3"`, 1))
	conflict, ok := errors.AsType[*runner.ConflictError](err)
	if !ok {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]runner.FieldConflict{{Path: "data.size", Yours: `"3"`, Theirs: `"9"`}}, conflict.Fields); diff != "" {
		t.Error(diff)
	}
	if c.get("x").Object["data"].(tree)["size"] != "9" {
		t.Error("theirs was overwritten")
	}
	if changed, err := client().Save(t.Context(), conflict.Draft, conflict.Draft.Text); err != nil || strings.Join(changed, " ") != "data.size" {
		t.Errorf("changed %q, %v", changed, err)
	}
	if diff := cmp.Diff(any(tree{"size": "3", "other": "9"}), c.get("x").Object["data"]); diff != "" {
		t.Error(diff)
	}
}

func TestSave_RefusesWhatIsNoVersionOfTheObject(t *testing.T) {
	c := newCluster(t)
	ref := c.configMap("x", tree{"data": tree{"size": "1"}})
	d := draft(t, ref)
	for text, want := range map[string]string{
		"data: [":                            "this is not the YAML of an object",
		"":                                   "the text is empty",
		d.Text + "status: {}\n":              "status cannot be edited",
		d.Text + "data: {}\n":                "already set in map",
		d.Text + "surplus: 1\n":              "unknown field",
		"kind: Secret\n":                     "apiVersion must remain v1",
		replace(d, "name: x", "name: other"): "metadata.name must remain x, not other",
		replace(d, "  name: x", "  name: x\n  uid: 1"):                      "metadata.uid cannot be edited",
		replace(d, `size: "1"`, "size: 1"):                                  "422 unprocessable entity: json: cannot unmarshal number",
		replace(d, "  name: x", "  labels: {a: \"not valid!\"}\n  name: x"): "422",
	} {
		_, err := client().Save(t.Context(), d, text)
		if _, refused := errors.AsType[*runner.RefusedTextError](err); !refused || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if err := client().Delete(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if _, err := client().Save(t.Context(), d, replace(d, `size: "1"`, `size: "2"`)); err == nil || !strings.Contains(err.Error(), "404 not found") {
		t.Errorf("a deleted object: %v", err)
	}
}

func replace(d *runner.Draft, old, with string) string { return strings.Replace(d.Text, old, with, 1) }

func TestHidden_ValuesAreNeitherShownNorOverwritten(t *testing.T) {
	c := newCluster(t)
	ref := c.create(secrets, "Secret", "x", tree{
		"data": tree{"password": "aHVudGVyMg=="},
		"metadata": tree{"annotations": tree{
			"last": `{"data":{"password":"b2xkLW9uZQ=="}}`, "token": "t0k3n",
			"kopf.zalando.org/failed-handler.fn": `{"handler":"fn","old":{"data":{"password":"ZmFpbGVkLW9uZQ=="}}}`,
		}},
	})
	hidden := []string{"metadata", "annotations", "token"}
	until := watch(t, client(), runner.Look{Object: ref, Facet: runner.FacetObject, Hidden: [][]string{hidden}})
	until("read", func(l runner.Looked) bool {
		text := strings.Join(l.YAML, "\n")
		for _, secret := range []string{"aHVudGVyMg==", "b2xkLW9uZQ==", "ZmFpbGVkLW9uZQ==", "t0k3n"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s is shown: %s", secret, text)
			}
		}
		return l.Loaded && strings.Contains(text, "password: '[redacted]'")
	})
	d := draft(t, ref, hidden)
	if _, err := client().Save(t.Context(), d, replace(d, "type: Opaque", "immutable: true\ntype: Opaque")); err != nil {
		t.Fatal(err)
	}
	got, err := c.client.Resource(secrets).Namespace(c.namespace).Get(t.Context(), "x", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if data := got.Object["data"].(tree); data["password"] != "aHVudGVyMg==" || got.GetAnnotations()["token"] != "t0k3n" {
		t.Errorf("hidden values were overwritten: %v", got.Object)
	}
	_, err = client().Save(t.Context(), d, replace(d, "token: '[redacted]'", "token: '[redacted] too'"))
	if err == nil || !strings.Contains(err.Error(), "metadata.annotations.token has a hidden value") {
		t.Errorf("a mark is written: %v", err)
	}
	_, err = client().Save(t.Context(), d, replace(d, "password: '[redacted]'", "password: not-base64!"))
	if err == nil || strings.Contains(err.Error(), "not-base64!") || strings.Contains(err.Error(), "t0k3n") {
		t.Errorf("the error is %v", err)
	}
}

func TestHidden_ManagedFieldsNameNoItems(t *testing.T) {
	c := newCluster(t)
	ref := c.configMap("x", tree{"data": tree{"kept": "value"}, "metadata": tree{"finalizers": []any{"example.com/t0k3n"}}})
	for _, tt := range []struct {
		hidden      [][]string
		shows, hide string
	}{
		{[][]string{{"metadata", "finalizers"}}, "'[redacted]': {}", "t0k3n"},
		{nil, `v:"example.com/t0k3n"`, "[redacted]"},
	} {
		until := watch(t, client(), runner.Look{Object: ref, Facet: runner.FacetObject, Hidden: tt.hidden})
		until("read", func(l runner.Looked) bool {
			text := strings.Join(l.YAML, "\n")
			if strings.Contains(text, tt.hide) {
				t.Errorf("%v: %s is shown: %s", tt.hidden, tt.hide, text)
			}
			return l.Loaded && strings.Contains(text, tt.shows) && strings.Contains(text, "f:kept: {}")
		})
	}
}

func TestSample_MakesAnotherObjectWithoutRecords(t *testing.T) {
	c := newCluster(t)
	ref := c.configMap("x", tree{"data": tree{"size": "1"}, "metadata": tree{"labels": tree{"tier": "gold"}, "annotations": tree{"record": "1"}, "finalizers": []any{"example.com/x"}}})
	d, err := client().Sample(t.Context(), ref, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "apiVersion: v1\ndata:\n  size: \"1\"\nkind: ConfigMap\nmetadata:\n  labels:\n    tier: gold\n  name: x-copy\n  namespace: " + c.namespace + "\n"
	if d.Text != want {
		t.Errorf("the sample is %s", d.Text)
	}
	if _, err := client().Save(t.Context(), d, d.Text); err != nil {
		t.Fatal(err)
	}
	if got := c.get("x-copy"); got.Object["data"].(tree)["size"] != "1" {
		t.Errorf("created %v", got.Object)
	}
	if _, err := client().Save(t.Context(), d, d.Text); err == nil || !strings.Contains(err.Error(), "409 conflict") {
		t.Errorf("the second time: %v", err)
	}
	if err := client().RemoveFinalizer(t.Context(), ref, "example.com/x"); err != nil {
		t.Error(err)
	}
}

// definition is a resource with fields of all kinds.
func definition(t *testing.T) inspect.Resource {
	t.Helper()
	if _, err := apply.Files(t.Context(), config, []string{filepath.Join("testdata", "crd.yaml")}, apply.Options{}); err != nil {
		t.Fatal(err)
	}
	return inspect.Resource{Key: "claims.v1.example.com", Kind: "Claim", Namespaced: true}
}

func TestNew_SkeletonOfSchema(t *testing.T) {
	c := newCluster(t)
	res := definition(t)
	cl := client()
	cl.Namespace = func() string { return c.namespace }
	templates, err := cl.Templates(t.Context(), nil, []inspect.Resource{res}, nil)
	if err != nil || len(templates) != 1 {
		t.Fatalf("%v, %v", templates, err)
	}
	var d *runner.Draft
	for deadline := time.Now().Add(time.Minute); d == nil || !strings.Contains(d.Text, "spec:") && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond) // the API server publishes a new schema soon, without an event
		if d, err = cl.New(t.Context(), templates[0]); err != nil {
			t.Fatal(err)
		}
	}
	want := `apiVersion: example.com/v1
kind: Claim
metadata:
  name: my-claim
  namespace: ` + c.namespace + `
spec:
  # Where the volume is mounted.
  mounts: [{"path":""}]
  owner:
    # Who pays.
    team: ""
    # mail: ""
  # (at least 1; at most 9)
  replicas: 1
  # How large the volume is.
  size: ""
  # What it costs. (one of "gold", "bronze")
  tier: "gold"
  # keep: true
  # labels: {}
`
	if diff := cmp.Diff(want, d.Text); diff != "" {
		t.Errorf("the skeleton (-want +got):\n%s", diff)
	}
	edited := replace(d, `size: ""`, "size: 1Gi")
	if _, err := cl.Save(t.Context(), d, strings.Replace(edited, "replicas: 1", "replicas: 10", 1)); err == nil || !strings.Contains(err.Error(), "422") {
		t.Errorf("a refused text: %v", err)
	}
	if made, err := cl.Save(t.Context(), d, edited); err != nil || !slices.Equal(made, []string{"my-claim"}) {
		t.Errorf("created %v, %v", made, err)
	}
	again, err := cl.New(t.Context(), templates[0])
	if err != nil || again.Object.Name != "my-claim-2" {
		t.Errorf("the next name is %+v, %v", again, err)
	}
}

func TestNew_SkeletonOfBuiltInResources(t *testing.T) {
	c := newCluster(t)
	cl := client()
	cl.Namespace = func() string { return c.namespace }
	for _, res := range []inspect.Resource{
		{Key: "pods.v1", Kind: "Pod", Namespaced: true}, {Key: "deployments.v1.apps", Kind: "Deployment", Namespaced: true},
		{Key: "configmaps.v1", Kind: "ConfigMap", Namespaced: true}, {Key: "namespaces.v1", Kind: "Namespace"},
	} {
		d, err := cl.New(t.Context(), runner.Template{Resource: res})
		if err != nil {
			t.Fatal(err)
		}
		if res.Namespaced != strings.Contains(d.Text, "\n  namespace: "+c.namespace) {
			t.Errorf("the namespace of %s", d.Text)
		}
		if res.Kind == "Deployment" && !strings.Contains(d.Text, "spec:\n  # Selector is a label selector for pods.") && !strings.Contains(d.Text, "  selector: {}\n") {
			t.Errorf("the skeleton is %s", d.Text)
		}
		if res.Kind == "ConfigMap" && !strings.Contains(d.Text, "\n# data: {}\n") {
			t.Errorf("the skeleton is %s", d.Text)
		}
		if _, err := yaml.YAMLToJSON([]byte(d.Text)); err != nil {
			t.Errorf("%v in %s", err, d.Text)
		}
	}
}

func TestNew_ManifestIsSampleWithAnotherName(t *testing.T) {
	c := newCluster(t)
	cl := client()
	cl.Namespace = func() string { return c.namespace }
	dir := t.TempDir()
	for name, text := range map[string]string{
		"one.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, labels: {tier: gold}}\ndata: {size: \"1\"}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: other}\n",
		"wrong.yaml": "kind: [\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	served := []inspect.Resource{{Key: "configmaps.v1", Kind: "ConfigMap", Namespaced: true}}
	templates, err := cl.Templates(t.Context(), []string{filepath.Join(dir, "one.yaml"), filepath.Join(dir, "wrong.yaml")}, served, nil)
	if err == nil || !strings.Contains(err.Error(), "wrong.yaml") {
		t.Errorf("what cannot be read is reported as %v", err)
	}
	if len(templates) != 2 || templates[0].Name != "one" || templates[0].Line != 1 || templates[1].Object != nil {
		t.Fatalf("the templates are %+v", templates)
	}
	for _, name := range []string{"one", "one-2"} {
		d, err := cl.New(t.Context(), templates[0])
		if err != nil || d.Object.Name != name {
			t.Fatalf("%+v, %v", d, err)
		}
		if made, err := cl.Save(t.Context(), d, d.Text); err != nil || !slices.Equal(made, []string{name}) {
			t.Errorf("created %v, %v", made, err)
		}
		if got := c.get(name); got.Object["data"].(tree)["size"] != "1" || got.GetLabels()["tier"] != "gold" {
			t.Errorf("created %v", got.Object)
		}
	}
}

func TestTemplates_OfResourcesThatAreOnlyReviewed(t *testing.T) {
	newCluster(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "one.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: one}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	served := []inspect.Resource{{Key: "configmaps.v1", Kind: "ConfigMap", Namespaced: true}}
	reviewed := []string{"configmaps.v1", "deployments.v1.apps", "namespaces.v1", "componentstatuses.v1", "pods.v1", "claims.v1.none.example"}
	templates, err := client().Templates(t.Context(), []string{file}, served, reviewed)
	if err == nil || !strings.Contains(err.Error(), "find the kind of claims.v1.none.example: 404 not found") {
		t.Errorf("what cannot be read is reported as %v", err)
	}
	var got []string
	for _, x := range templates {
		got = append(got, fmt.Sprint(x.Resource.Key, " ", x.Resource.Kind, " ", x.Resource.Namespaced, " ", x.Name))
	}
	want := []string{
		"deployments.v1.apps Deployment true one", "configmaps.v1 ConfigMap true ",
		"deployments.v1.apps Deployment true ", "namespaces.v1 Namespace false ", "pods.v1 Pod true ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDelete_OnlyTheObjectThatWasSeen(t *testing.T) {
	c := newCluster(t)
	ref := c.configMap("x", nil)
	other := ref
	other.UID = "another"
	if err := client().Delete(t.Context(), other); err == nil || !strings.Contains(err.Error(), "x is another object of the same name by now") {
		t.Errorf("another object: %v", err)
	}
	c.get("x")
	if err := client().Delete(t.Context(), ref); err != nil {
		t.Error(err)
	}
	if err := client().Delete(t.Context(), ref); err == nil || !strings.Contains(err.Error(), "404 not found") {
		t.Errorf("a deleted object: %v", err)
	}
}

func TestFinalizer_OthersStay(t *testing.T) {
	c := newCluster(t)
	ref := c.configMap("x", tree{"metadata": tree{"finalizers": []any{"example.com/a", "example.com/b"}}})
	if err := client().RemoveFinalizer(t.Context(), ref, "example.com/a"); err != nil {
		t.Fatal(err)
	}
	if got := c.get("x").GetFinalizers(); strings.Join(got, " ") != "example.com/b" {
		t.Errorf("the finalizers are %v", got)
	}
	if err := client().RemoveFinalizer(t.Context(), ref, "example.com/a"); err == nil || !strings.Contains(err.Error(), "x does not have the finalizer example.com/a") {
		t.Errorf("the second time: %v", err)
	}
	if err := client().RemoveFinalizer(t.Context(), ref, "example.com/b"); err != nil {
		t.Error(err)
	}
}

func TestMetadata_SetAndRemoved(t *testing.T) {
	c := newCluster(t)
	ref := c.configMap("x", tree{"metadata": tree{"labels": tree{"old": "1", "kept": "1"}}})
	value := "two words"
	err := client().SetMetadata(t.Context(), ref, runner.MetadataChange{Labels: map[string]*string{"old": nil}, Annotations: map[string]*string{"note": &value}})
	if err != nil {
		t.Fatal(err)
	}
	if o := c.get("x"); o.GetAnnotations()["note"] != value || len(o.GetLabels()) != 1 {
		t.Errorf("it is %v", o.Object)
	}
	if err := client().SetMetadata(t.Context(), ref, runner.MetadataChange{Labels: map[string]*string{"tier": &value}}); err == nil || !strings.Contains(err.Error(), "422") {
		t.Errorf("an invalid label: %v", err)
	}
}

func TestOwned_NamesWhatKubernetesDeletes(t *testing.T) {
	c := newCluster(t)
	ref := c.configMap("owner", nil)
	owned := func(uid string) tree {
		return tree{"metadata": tree{"ownerReferences": []any{tree{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}}}}
	}
	c.configMap("child", owned(ref.UID))
	c.create(secrets, "Secret", "token", owned(ref.UID))
	c.configMap("of-another", owned("another"))
	got, err := client().Owned(t.Context(), ref, []inspect.Resource{{Key: "endpoints.v1", Namespaced: true}})
	if err != nil || strings.Join(got, ", ") != "configmaps child, secrets token" {
		t.Errorf("it owns %q, %v", got, err)
	}
}
