package proxy

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/plan/copy"
)

const dyingKex = `
apiVersion: example.com/v1
kind: Kex
metadata:
  name: dying
  namespace: %s
  uid: uid-of-dying
  generation: 9
  creationTimestamp: "2021-02-03T04:05:06Z"
  deletionTimestamp: "2021-02-03T05:05:06Z"
  deletionGracePeriodSeconds: 0
  finalizers: [example.com/hold]
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: not-copied, uid: uid-of-owner}]
spec: {size: 1}
status: {phase: Going}
`

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// TestProxy_CopiesOnRead compares an object in the middle of its life with the copy, and looks which resources are copied.
func TestProxy_CopiesOnRead(t *testing.T) {
	c := theSource(t, "read")
	load(t, c, kexes, fmt.Sprintf(dyingKex, "read"))
	load(t, c, leases, `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: leader, namespace: read}, spec: {holderIdentity: another}}`)
	load(t, c, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: unread, namespace: read}}`)
	load(t, c, secrets, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata:
  name: login
  namespace: read
  annotations:
    kopf.zalando.org/last-handled-configuration: '{"data":{"password":"%[1]s"}}'
data: {password: %[1]s}
`, b64("hunter22")))
	p := try(t, copyOf(t, c, "", copy.Options{}), Options{})

	want, got := object(t, dyingKex, "read"), get(t, p.operator, kexes, "read", "dying")
	got.SetResourceVersion("")
	if got, want := asJSON(t, got), asJSON(t, want); got != want {
		t.Errorf("the copy has\n%s\nwant\n%s", got, want)
	}
	secret := get(t, p.operator, secrets, "read", "login")
	value, _, _ := unstructured.NestedString(secret.Object, "data", "password")
	if value == b64("hunter22") || secret.GetAnnotations()["kopf.zalando.org/last-handled-configuration"] != `{"data":{"password":"`+value+`"}}`+"\n" {
		t.Errorf("the Secret has the data %q and the annotations %v", value, secret.GetAnnotations())
	}
	if uid := get(t, p.operator, namespaces, "", "read").GetUID(); uid != "uid-of-read" {
		t.Errorf("the namespace has the uid %s, want the one of the cluster", uid)
	}
	list, err := p.operator.Resource(leases).List(t.Context(), metav1.ListOptions{})
	if err != nil || slices.ContainsFunc(list.Items, func(o unstructured.Unstructured) bool { return o.GetName() == "leader" }) {
		t.Errorf("the leases are %v: %v", list, err)
	}
	for _, r := range p.copy.Summary().Resources {
		if r.Scope.Resource == configMaps || r.Scope.Resource == leases {
			t.Errorf("%s is copied without a request for it", r.Scope)
		}
	}
	if n := len(p.Requests()); n != 0 {
		t.Errorf("%d requests are recorded, want none", n)
	}
}

// TestProxy_WatchIsPassedOn watches a resource that was not read before.
func TestProxy_WatchIsPassedOn(t *testing.T) {
	c := theSource(t, "watch")
	load(t, c, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: old, namespace: watch}}`)
	p := try(t, copyOf(t, c, "", copy.Options{}), Options{})
	w, err := p.operator.Resource(configMaps).Namespace("watch").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if e := <-w.ResultChan(); e.Object.(*unstructured.Unstructured).GetName() != "old" {
		t.Errorf("the watch delivers %v first, want the copied object", e)
	}
	if _, err := p.operator.Resource(configMaps).Namespace("watch").Create(t.Context(), object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: new}}`), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if e := <-w.ResultChan(); e.Object.(*unstructured.Unstructured).GetName() != "new" {
		t.Errorf("the watch delivers %v, want the new object while it is open", e)
	}
	if busy, last := p.Busy(); busy != 0 || last.IsZero() {
		t.Errorf("%d requests are being answered while only a watch is open", busy)
	}
}

func TestProxy_SignsOfLifeAreNoWork(t *testing.T) {
	p := try(t, copyOf(t, theSource(t, "alive"), "", copy.Options{}), Options{})
	_, before := p.Busy()
	if _, err := p.operator.Resource(leases).Namespace("alive").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, after := p.Busy(); !after.Equal(before) || !p.LastUse().IsZero() {
		t.Error("a request for leases counts as work")
	}
	if _, err := p.operator.Resource(configMaps).Namespace("alive").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if p.LastUse().IsZero() {
		t.Error("a request for objects does not count")
	}
}

// TestProxy_KeepsChanges reads a namespace, changes an object there, and then reads all namespaces.
func TestProxy_KeepsChanges(t *testing.T) {
	c := theSource(t, "keep")
	for _, name := range []string{"changed", "deleted"} {
		load(t, c, configMaps, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: keep}, data: {a: old}}`, name))
	}
	p := try(t, copyOf(t, c, "", copy.Options{}), Options{})
	here := p.operator.Resource(configMaps).Namespace("keep")
	if _, err := here.Patch(t.Context(), "changed", "application/merge-patch+json", []byte(`{"data":{"a":"new"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := here.Delete(t.Context(), "deleted", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	list, err := p.operator.Resource(configMaps).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Items {
		value, _, _ := unstructured.NestedString(o.Object, "data", "a")
		if o.GetNamespace() == "keep" && (o.GetName() != "changed" || value != "new") {
			t.Errorf("%s is %q after all namespaces are copied", o.GetName(), value)
		}
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
	for _, name := range []string{"changed", "deleted"} {
		o, err := control.object(t.Context(), configMaps, "keep", name)
		if err != nil || o == nil || o["data"].(map[string]any)["a"] != "old" {
			t.Errorf("the cluster has %v: %v", o, err)
		}
	}
}

const clerk = `
apiVersion: rbac.authorization.k8s.io/v1
kind: %s
metadata: {name: clerk, namespace: %q}
`

// TestProxy_RefusesAsTheCluster copies as a user who may list definitions, list ConfigMaps in a namespace, and get a Secret.
func TestProxy_RefusesAsTheCluster(t *testing.T) {
	c := theSource(t, "refused")
	rbac := schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	load(t, c, rbac.WithResource("clusterroles"), fmt.Sprintf(clerk, "ClusterRole", "")+
		`rules: [{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [list]}]`)
	load(t, c, rbac.WithResource("clusterrolebindings"), fmt.Sprintf(clerk, "ClusterRoleBinding", "")+`
subjects: [{kind: User, name: clerk, apiGroup: rbac.authorization.k8s.io}]
roleRef: {kind: ClusterRole, name: clerk, apiGroup: rbac.authorization.k8s.io}`)
	load(t, c, rbac.WithResource("roles"), fmt.Sprintf(clerk, "Role", "refused")+`
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [list]}
- {apiGroups: [""], resources: [secrets], resourceNames: [known, missing], verbs: [get]}`)
	load(t, c, rbac.WithResource("rolebindings"), fmt.Sprintf(clerk, "RoleBinding", "refused")+`
subjects: [{kind: User, name: clerk, apiGroup: rbac.authorization.k8s.io}]
roleRef: {kind: Role, name: clerk, apiGroup: rbac.authorization.k8s.io}`)
	load(t, c, configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: known, namespace: refused}}`)
	load(t, c, secrets, `{apiVersion: v1, kind: Secret, metadata: {name: known, namespace: refused}}`)

	p := try(t, copyOf(t, c, "clerk", copy.Options{}), Options{})
	if _, err := p.operator.Resource(configMaps).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `"clerk" cannot list resource "configmaps"`) {
		t.Errorf("listing all namespaces ends with %v, want the cluster's refusal", err)
	}
	list, err := p.operator.Resource(configMaps).Namespace("refused").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("the namespace has %v: %v", list, err)
	}
	get(t, p.operator, secrets, "refused", "known")
	here := p.operator.Resource(secrets).Namespace("refused")
	if _, err := here.Get(t.Context(), "missing", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("getting an object that does not exist ends with %v", err)
	}
	if _, err := here.Get(t.Context(), "other", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("getting another object ends with %v", err)
	}
	var reasons []string
	for _, u := range p.Untried() {
		reasons = append(reasons, u.Resource.Resource+": "+u.Reason)
	}
	for _, part := range []string{`configmaps: configmaps is forbidden`, `secrets: secrets "other" is forbidden`, `namespaces: namespaces "refused" is forbidden`} {
		if !slices.ContainsFunc(reasons, func(r string) bool { return strings.HasPrefix(r, part) }) {
			t.Errorf("%q is not among the reasons:\n%s", part, strings.Join(reasons, "\n"))
		}
	}
}

// TestProxy_FromFile saves the resources that a run has needed, and runs without the cluster.
func TestProxy_FromFile(t *testing.T) {
	c := theSource(t, "file")
	load(t, c, kexes, fmt.Sprintf(dyingKex, "file"))
	load(t, c, secrets, `{apiVersion: v1, kind: Secret, metadata: {name: login, namespace: file}, data: {password: `+b64("hunter22")+`}}`)
	live := try(t, copyOf(t, c, "", copy.Options{Context: "prod"}), Options{})
	kex, secret := get(t, live.operator, kexes, "file", "dying"), get(t, live.operator, secrets, "file", "login")
	var file bytes.Buffer
	if err := live.copy.Write(&file); err != nil {
		t.Fatal(err)
	}
	saved, err := copy.Read(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := saved.Summary(), live.copy.Summary(); asJSON(t, got) != asJSON(t, want) {
		t.Errorf("the file is described as\n%s\nwant\n%s", asJSON(t, got), asJSON(t, want))
	}
	p := try(t, saved, Options{})
	for _, want := range []*unstructured.Unstructured{kex, secret} {
		r := kexes
		if want.GetKind() == "Secret" {
			r = secrets
		}
		got := get(t, p.operator, r, "file", want.GetName())
		got.SetResourceVersion(want.GetResourceVersion())
		if !reflect.DeepEqual(got.Object, want.Object) {
			t.Errorf("the file has\n%v\nwant\n%v", got.Object, want.Object)
		}
	}
	if _, err := p.operator.Resource(configMaps).Namespace("file").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "not in the copy") {
		t.Errorf("a resource that is not in the file ends with %v", err)
	}
}

// TestProxy_ChangeAndLimit leaves out objects, and exceeds the limit.
func TestProxy_ChangeAndLimit(t *testing.T) {
	c := theSource(t, "change")
	for i := range 3 {
		load(t, c, configMaps, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: change}}`, i))
		load(t, c, secrets, fmt.Sprintf(`{apiVersion: v1, kind: Secret, metadata: {name: s%d, namespace: change}}`, i))
	}
	failures := make(chan error, 10)
	p := try(t, copyOf(t, c, "", copy.Options{Limit: 64}), Options{
		Failed: func(err error) { failures <- err },
		Change: func(r schema.GroupResource, o map[string]any) map[string]any {
			u := unstructured.Unstructured{Object: o}
			if u.GetName() == "c1" {
				return nil
			}
			if r == configMaps.GroupResource() {
				u.SetLabels(map[string]string{"changed": "yes"})
			}
			return o
		},
	})
	list, err := p.operator.Resource(configMaps).Namespace("change").List(t.Context(), metav1.ListOptions{LabelSelector: "changed=yes"})
	if err != nil || len(list.Items) != 2 {
		t.Errorf("the changed copy has %v: %v", list, err)
	}
	p.copy = copyOf(t, c, "", copy.Options{Limit: 2})
	if _, err := p.copy.Listing(t.Context(), copy.Scope{Resource: secrets, Namespace: "change"}); err == nil || !strings.Contains(err.Error(), "more than 2 objects") {
		t.Errorf("a listing of 3 objects ends with %v", err)
	}
	if len(failures) != 0 {
		t.Errorf("the proxy failed: %v", <-failures)
	}
}

// TestProxy_DiscoveryHasDefinitions asks for the resources before anything else, as operators do.
func TestProxy_DiscoveryHasDefinitions(t *testing.T) {
	p := try(t, copyOf(t, theSource(t, "discovery"), "", copy.Options{}), Options{})
	resp, err := p.http.Get("http://copy/apis/example.com/v1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"kexes"`) {
		t.Errorf("the discovery answers with %s %s: %v", resp.Status, body, err)
	}
	definition := get(t, p.operator, copy.Definitions, "", "kexes.example.com")
	if definition.GetUID() != "uid-of-definition" || definition.GetGeneration() != 3 {
		t.Errorf("the definition has the uid %s and the generation %d", definition.GetUID(), definition.GetGeneration())
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	out, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
