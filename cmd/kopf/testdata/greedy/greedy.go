// Package greedy has a handler with requests that its registration does not declare.
package greedy

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register is called by kopf run.
func Register(r *kopf.Registry) {
	kopf.OnCreate(r, kopf.Resource("v1", "configmaps"), create, kopf.Labels{"greedy": "yes"}, kopf.ErrorsPermanent)
}

func create(ctx context.Context, c *kopf.Change[kopf.Object]) error {
	client, err := dynamic.NewForConfig(kopf.RESTConfig(ctx))
	if err != nil {
		return err
	}
	_, listed := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(c.Namespace).List(ctx, metav1.ListOptions{})
	pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "one"}}}
	_, created := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(c.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	return errors.Join(listed, created)
}
