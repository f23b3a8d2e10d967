package testcluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// patience is how long the cluster may take for something that it does by itself.
const patience = 90 * time.Second

// Client makes a client of the control plane, whose connections end with the test.
func Client(t testing.TB, options kube.ClientOptions) *kube.Client {
	t.Helper()
	session, err := kube.NewSession(Config(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return kube.NewClient(kube.Fixed(session), options)
}

// Namespace makes a namespace for the test. It ends with the control plane: to delete the
// namespaces of all tests would keep that busy for longer than the tests take, and those
// waiting that are about the end of a namespace.
func Namespace(t testing.TB, client *kube.Client) string {
	t.Helper()
	name := "test-" + suffix()
	namespaces := &resources.Resource{Version: "v1", Plural: "namespaces", Kind: "Namespace"}
	create(t, client, namespaces, "", map[string]any{"metadata": map[string]any{"name": name}})
	return name
}

// Examples makes a custom resource for the test, namespaced, with any fields and with a
// status if wanted. It is deleted at the end, with all its objects.
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

// Create makes an object, and deletes it at the end.
func Create(t testing.TB, client *kube.Client, res *resources.Resource, namespace string, object map[string]any) *object.Object {
	t.Helper()
	created := create(t, client, res, namespace, object)
	t.Cleanup(func() {
		if err := Delete(context.WithoutCancel(t.Context()), client, res, namespace, created.Name); err != nil && !apierrors.IsNotFound(err) {
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
	path, err := res.Path(namespace, name, "", nil)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	_, err = client.Do(ctx, kube.Request{Method: http.MethodDelete, Path: path, Resource: res})
	return err
}

// Eventually asks again and again until the answer is no error.
func Eventually(t testing.TB, what string, ask func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := ask()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s until %s: %v", patience, what, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func suffix() string { return strings.ToLower(rand.Text()[:8]) }
