// Package children creates a pod for each object.
package children

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/owner"
)

// Example has the fields that the handler reads.
type Example struct {
	Spec struct {
		Duration string `json:"duration"`
		Field    string `json:"field"`
	} `json:"spec"`
}

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	// A new cluster rejects pods for some seconds.
	kopf.OnCreate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), create, kopf.RetryDelay(2*time.Second),
		kopf.Uses(kopf.Resource("v1", "pods"), "create"))
}

// create creates the pod. The list of children in Result is stored at status.create.
func create(ctx context.Context, c *kopf.Change[Example]) error {
	pod, err := podFor(c)
	if err != nil {
		return err
	}
	pods, err := podsIn(ctx, c.Namespace)
	if err != nil {
		return err
	}
	created, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	c.Logger.Info("created the pod", "pod", created.GetName())
	c.Result = map[string]any{"children": []any{created.GetUID()}}
	return nil
}

// podFor returns the pod to create. Kubernetes generates its name from the owner's.
func podFor(c *kopf.Change[Example]) (*unstructured.Unstructured, error) {
	field := c.Object.Spec.Field
	if field == "" {
		field = "default-value"
	}
	duration := c.Object.Spec.Duration
	if duration == "" {
		duration = "0"
	}
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "Pod",
		"spec": map[string]any{
			"containers": []any{map[string]any{
				"name":    "the-only-one",
				"image":   "busybox",
				"command": []any{"sh", "-x", "-c"},
				"args":    []any{fmt.Sprintf("echo FIELD=$FIELD; sleep %s", duration)},
				"env":     []any{map[string]any{"name": "FIELD", "value": field}},
			}},
		},
	}}
	// Put it into the owner's namespace, with the owner's labels, and delete it with the owner.
	if err := owner.Adopt(pod, c.Body, owner.Options{}); err != nil {
		return nil, err
	}
	return pod, nil
}

// podsIn returns a client for the pods of a namespace, with the operator's credentials.
func podsIn(ctx context.Context, namespace string) (dynamic.ResourceInterface, error) {
	client, err := dynamic.NewForConfig(kopf.RESTConfig(ctx))
	if err != nil {
		return nil, err
	}
	return client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(namespace), nil
}
