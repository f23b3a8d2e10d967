package kube_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m, testcluster.Exit) }

func find(d kube.Discovery, key string) *resources.Resource {
	for i := range d.Resources {
		if d.Resources[i].Key() == key {
			return &d.Resources[i]
		}
	}
	return nil
}

func TestDiscover_RealClusterNeedsTwoRequests(t *testing.T) {
	var requests atomic.Int32
	client := testcluster.Client(t, kube.ClientOptions{Observe: func(call kube.Call) {
		if !call.Repeated {
			requests.Add(1)
		}
	}})
	d, err := client.Discover(t.Context())
	if err != nil || len(d.Failed) != 0 || requests.Load() != 2 {
		t.Fatal(err, d.Failed, requests.Load())
	}
	pods := find(d, "pods.v1")
	if pods == nil || pods.Kind != "Pod" || !pods.Namespaced || !pods.Preferred || !slices.Contains(pods.Subresources, "status") || !slices.Contains(pods.Verbs, "watch") || !slices.Equal(pods.Shortcuts, []string{"po"}) {
		t.Errorf("%+v", pods)
	}
	if find(d, "deployments.v1.apps") == nil {
		t.Error("no deployments")
	}
}

func TestDiscover_AggregatedAndClassicDocumentsAgree(t *testing.T) {
	client := testcluster.Client(t, kube.ClientOptions{})
	all, err := client.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	groups, err := client.Discover(t.Context(), "apps", "rbac.authorization.k8s.io")
	if err != nil || len(groups.Resources) == 0 {
		t.Fatal(err)
	}
	for _, r := range groups.Resources {
		twin := find(all, r.Key())
		if twin == nil || twin.Kind != r.Kind || twin.Singular != r.Singular || twin.Preferred != r.Preferred ||
			!slices.Equal(twin.Verbs, r.Verbs) || !slices.Equal(twin.Subresources, r.Subresources) || !slices.Equal(twin.Categories, r.Categories) {
			t.Errorf("%+v\n%+v", twin, r)
		}
	}
}

func TestClient_CreatesPatchesAndGetsRealObjects(t *testing.T) {
	client := testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	examples := testcluster.Examples(t, client, "status")
	ctx := t.Context()
	created := testcluster.Create(t, client, examples, namespace, map[string]any{"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"n": 1}})
	if created.UID == "" || created.Generation != 1 || created.Created.IsZero() || strings.Contains(string(created.Raw), "managedFields") {
		t.Errorf("%s", created.Raw)
	}
	patched, err := client.Patch(ctx, examples, namespace, "a", "status", kube.MergePatch, []byte(`{"status":{"x":"y"},"spec":{"n":2}}`))
	if err != nil || patched.ResourceVersion == created.ResourceVersion || patched.Generation != 1 {
		t.Error(patched, err)
	}
	_, err = client.Patch(ctx, examples, namespace, "a", "", patch.JSONType, []byte(`[{"op":"test","path":"/metadata/resourceVersion","value":"1"},{"op":"add","path":"/spec/n","value":3}]`))
	if kube.Status(err) != 422 {
		t.Error(err)
	}
	if _, err := client.Get(ctx, examples, namespace, "b"); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
	twin := []byte(`{"apiVersion":"` + examples.APIVersion() + `","kind":"KopfExample","metadata":{"name":"a"}}`)
	if _, err := client.Post(ctx, examples, namespace, twin); !apierrors.IsAlreadyExists(err) || kube.Retriable(err) {
		t.Error(err)
	}
	list, err := client.List(ctx, examples, namespace, kube.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.ResourceVersion == "" {
		t.Error(list, err)
	}
}

func TestList_BuiltInObjectsHaveKindAndVersion(t *testing.T) {
	client := testcluster.Client(t, kube.ClientOptions{})
	namespaces := &resources.Resource{Version: "v1", Plural: "namespaces", Kind: "Namespace"}
	list, err := client.List(t.Context(), namespaces, "", kube.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		t.Fatal(err)
	}
	tree, err := list.Items[0].Tree()
	if err != nil || tree["kind"] != "Namespace" || tree["apiVersion"] != "v1" {
		t.Error(tree, err)
	}
}

func TestClient_UnknownCredentialsAreUnauthorized(t *testing.T) {
	config := testcluster.Config(t)
	config.CertData, config.KeyData, config.CertFile, config.KeyFile = nil, nil, "", ""
	config.BearerToken = "wrong"
	session, err := kube.NewSession(config, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	_, err = kube.NewClient(kube.Fixed(session), kube.ClientOptions{}).Discover(t.Context())
	if !apierrors.IsUnauthorized(err) {
		t.Error(err)
	}
	if _, isError := errors.AsType[*kube.Error](err); !isError {
		t.Errorf("%T", err)
	}
}
