package apply_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// config is the client configuration of the cluster that all tests share.
var config *rest.Config

func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.fuzz").Value.String() != "" {
		os.Exit(m.Run()) // reading manifests needs no cluster
	}
	code, err := withCluster(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func withCluster(m *testing.M) (code int, err error) {
	state, err := os.MkdirTemp("", "apply-test-")
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

func manifest(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: %[1]ss, singular: %[1]s, kind: %[2]s}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func TestFiles_AppliesDefinitionsBeforeCustomResources(t *testing.T) {
	path := manifest(t, `
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: widgets}
spec: {size: 1}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: v1
kind: Namespace
metadata: {name: widgets}
---
`+fmt.Sprintf(definition, "widget", "Widget"))
	applied, err := apply.Files(t.Context(), config, []string{path}, apply.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, o := range applied {
		order = append(order, o.Resource.Resource)
	}
	if strings.Join(order, " ") != "customresourcedefinitions namespaces widgets configmaps" {
		t.Fatalf("the applied objects are %+v", applied)
	}
	w := applied[2]
	if w.Resource.String() != "example.com/v1, Resource=widgets" || w.Namespace != "widgets" || w.Name != "w" || w.UID == "" || w.ResourceVersion == "" {
		t.Errorf("the widget is %+v", w)
	}
	if c := applied[3]; c.Namespace != "default" || applied[1].Namespace != "" {
		t.Errorf("the namespaces are %q and %q", c.Namespace, applied[1].Namespace)
	}

	again, err := apply.Files(t.Context(), config, []string{path}, apply.Options{})
	for i := range applied {
		if applied[i].Change != apply.Created || again[i].Change != apply.Unchanged {
			t.Errorf("%s %s was %s, then %s", applied[i].Resource.Resource, applied[i].Name, applied[i].Change, again[i].Change)
		}
	}
	if err != nil || again[2].UID != w.UID || again[2].ResourceVersion != w.ResourceVersion {
		t.Errorf("after applying again, the objects are %+v (%v)", again, err)
	}
}

func TestFiles_UsesDefaultNamespaceOfCaller(t *testing.T) {
	path := manifest(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: here}}")
	applied, err := apply.Files(t.Context(), config, []string{path}, apply.Options{Namespace: "kube-public"})
	if err != nil || applied[0].Namespace != "kube-public" {
		t.Errorf("applied is %+v (%v)", applied, err)
	}
}

func TestFiles_DryRunStoresNothing(t *testing.T) {
	path := manifest(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: dry}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: DRY}}")
	for range 2 {
		applied, err := apply.Files(t.Context(), config, []string{path}, apply.Options{DryRun: true})
		if len(applied) != 1 || applied[0].Change != apply.Created || err == nil {
			t.Errorf("applied is %+v (%v), want a created object and a rejected one", applied, err)
		}
	}
}

func TestFiles_OverwritesFieldsOfOtherManagers(t *testing.T) {
	path := manifest(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: shared}, data: {a: file}}")
	if _, err := apply.Files(t.Context(), config, []string{path}, apply.Options{}); err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	maps := client.Resource(configMaps).Namespace("default")
	if _, err := maps.Patch(t.Context(), "shared", "application/merge-patch+json", []byte(`{"data": {"a": "other", "b": "other"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	applied, err := apply.Files(t.Context(), config, []string{path}, apply.Options{})
	if err != nil || applied[0].Change != apply.Configured {
		t.Fatalf("applied is %+v (%v)", applied, err)
	}
	o, err := maps.Get(t.Context(), "shared", metav1.GetOptions{})
	if err != nil || fmt.Sprint(o.Object["data"]) != "map[a:file b:other]" {
		t.Errorf("got %v (%v)", o, err)
	}
}

func TestFiles_RejectionNamesObjectAndLine(t *testing.T) {
	for _, test := range []struct {
		title, body, says string
		isReason          func(error) bool
	}{
		{"a missing namespace", "\n{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: nowhere}}", ":2: ConfigMap x in nowhere: ", apierrors.IsNotFound},
		{"an unknown kind", "{apiVersion: v1, kind: Nonsense, metadata: {name: x}}", ":1: Nonsense x: the server does not know this kind", nil},
		{"an unknown group", "{apiVersion: nonsense.example.com/v1, kind: X, metadata: {name: x}}", "does not know this kind", nil},
		{"an invalid object", "{apiVersion: v1, kind: ConfigMap, metadata: {name: UPPER}}", "ConfigMap UPPER: ", apierrors.IsInvalid},
		{"an invalid definition", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}}", "CustomResourceDefinition x: ", apierrors.IsInvalid},
	} {
		t.Run(test.title, func(t *testing.T) {
			path := manifest(t, test.body)
			_, err := apply.Files(t.Context(), config, []string{path}, apply.Options{})
			refused, ok := errors.AsType[*apply.ObjectError](err)
			if !ok || !strings.Contains(err.Error(), path+":") || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("the error is %v", err)
			}
			if test.isReason != nil && !test.isReason(refused) {
				t.Errorf("the reason is lost: %v", err)
			}
		})
	}
}

func TestFiles_GoesOnAfterRejectedObjects(t *testing.T) {
	path := manifest(t, `
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: BAD}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: good}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: lost, namespace: nowhere}}
`)
	applied, err := apply.Files(t.Context(), config, []string{path}, apply.Options{})
	if len(applied) != 1 || applied[0].Name != "good" {
		t.Errorf("applied is %+v", applied)
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 3 {
		t.Fatalf("the error is %v", err)
	}
	for i, want := range []string{"CustomResourceDefinition x: ", "ConfigMap BAD: ", "ConfigMap lost in nowhere: "} {
		if got := joined.Unwrap()[i].Error(); !strings.Contains(got, want) {
			t.Errorf("error %d is %s", i, got)
		}
	}
}

func TestFiles_InvalidFileAppliesNothing(t *testing.T) {
	good := manifest(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: untouched}}")
	if _, err := apply.Files(t.Context(), config, []string{good, manifest(t, "a: b: c")}, apply.Options{}); err == nil {
		t.Fatal("there is no error")
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resource(configMaps).Namespace("default").Get(t.Context(), "untouched", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is there (%v)", err)
	}
}

// afterApply calls a function before each request that follows an apply.
type afterApply struct {
	http.RoundTripper
	do func()
}

func (a afterApply) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/apis/example.com/v1" {
		a.do()
	}
	return a.RoundTripper.RoundTrip(r)
}

func TestFiles_StopsWithContextWhileWaitingForDefinition(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	path := manifest(t, fmt.Sprintf(definition, "gadget", "Gadget"))
	cancelling := rest.CopyConfig(config)
	cancelling.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return afterApply{RoundTripper: next, do: cancel}
	})
	_, err := apply.Files(ctx, cancelling, []string{path}, apply.Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestFiles_ErrorsDoNotShowTheDataOfSecrets(t *testing.T) {
	for _, data := range []string{"data: {password: 123456789}", "data: {password: {nested-5ecret: deep-5ecret}}", "data: [listed-5ecret]", "stringData: {password: [listed-5ecret]}", "data: {password: not-base64-5ecret}"} {
		path := manifest(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: refused}\n"+data+"\n")
		_, err := apply.Files(t.Context(), config, []string{path}, apply.Options{})
		if err == nil {
			t.Errorf("%s is accepted", data)
			continue
		}
		for _, secret := range []string{"123456789", "deep-5ecret", "listed-5ecret", "not-base64-5ecret"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", data, err)
			}
		}
	}
}

func TestManifest_SetupIsWhatOthersNeed(t *testing.T) {
	path := manifest(t, `
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: a}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}}
---
{apiVersion: zalando.org/v1, kind: ClusterKopfPeering, metadata: {name: a}}
---
{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: other}}
---
{apiVersion: v1, kind: Secret, metadata: {name: other}}
`)
	all, err := apply.Read([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if want := m.Object.GetName() == "a"; m.IsSetup() != want {
			t.Errorf("%s: %t", m.Object.GetKind(), m.IsSetup())
		}
	}
}
