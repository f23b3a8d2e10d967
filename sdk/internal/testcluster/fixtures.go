package testcluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// eventuallyTimeout limits [Eventually].
const eventuallyTimeout = 90 * time.Second

// Client returns a client of the shared control plane. Its connections close at the end of the
// test.
func Client(t testing.TB, options kube.ClientOptions) *kube.Client {
	t.Helper()
	session, err := kube.NewSession(Config(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return kube.NewClient(kube.Fixed(session), options)
}

// Namespace creates a namespace and returns its name. The namespace is not deleted, as that
// would take the control plane longer than the tests themselves.
func Namespace(t testing.TB, client *kube.Client) string {
	t.Helper()
	name := "test-" + suffix()
	namespaces := &resources.Resource{Version: "v1", Plural: "namespaces", Kind: "Namespace"}
	create(t, client, namespaces, "", map[string]any{"metadata": map[string]any{"name": name}})
	return name
}

// Examples creates a namespaced custom resource without a schema, with subresources such as
// "status". It is deleted at the end of the test, with all its objects.
func Examples(t testing.TB, client *kube.Client, subresources ...string) *resources.Resource {
	t.Helper()
	group := "test-" + suffix() + ".kopf.dev"
	res := &resources.Resource{
		Group: group, Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Singular: "kopfexample",
		Subresources: subresources, Namespaced: true, Preferred: true,
	}
	enabled := make(map[string]any)
	for _, name := range subresources {
		enabled[name] = map[string]any{}
	}
	definitions := &resources.Resource{Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions", Kind: "CustomResourceDefinition"}
	Create(t, client, definitions, "", map[string]any{
		"metadata": map[string]any{"name": res.Plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"plural": res.Plural, "singular": res.Singular, "kind": res.Kind},
			"versions": []any{map[string]any{
				"name": res.Version, "served": true, "storage": true, "subresources": enabled,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	})
	Eventually(t, "the resource is served", func() error {
		_, err := client.WithoutRetries().List(t.Context(), res, "", kube.ListOptions{Limit: 1})
		return err
	})
	return res
}

// Create creates an object. It is deleted at the end of the test.
func Create(t testing.TB, client *kube.Client, res *resources.Resource, namespace string, object map[string]any) *object.Object {
	t.Helper()
	created := create(t, client, res, namespace, object)
	t.Cleanup(func() {
		if err := Delete(context.WithoutCancel(t.Context()), client, res, namespace, created.Name); err != nil && kube.Classify(err) != kube.NotFound {
			t.Error(err)
		}
	})
	return created
}

func create(t testing.TB, client *kube.Client, res *resources.Resource, namespace string, object map[string]any) *object.Object {
	t.Helper()
	object["apiVersion"], object["kind"] = res.APIVersion(), res.Kind
	body, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	created, err := client.Post(t.Context(), res, namespace, body)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// Delete deletes an object.
func Delete(ctx context.Context, client *kube.Client, res *resources.Resource, namespace, name string) error {
	return client.Delete(ctx, res, namespace, name, kube.DeleteOptions{})
}

// Eventually calls a function until it returns no error. The test fails after 90s.
func Eventually(t testing.TB, what string, ask func() error) {
	t.Helper()
	deadline := time.Now().Add(eventuallyTimeout)
	for {
		err := ask()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s until %s: %v", eventuallyTimeout, what, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func suffix() string { return strings.ToLower(rand.Text()[:8]) }
