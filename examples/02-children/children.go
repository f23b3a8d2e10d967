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
)

// Example is what the handler reads of an object.
type Example struct {
	Spec struct {
		Duration string `json:"duration"`
		Field    string `json:"field"`
	} `json:"spec"`
}

// Register is what kopf dev and kopf run look for.
func Register(r *kopf.Registry) {
	// A cluster that has just been made refuses pods for some seconds.
	kopf.OnCreate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), create, kopf.Backoff(2*time.Second))
}

// create makes the pod. The list of children in Result is stored at status.create.
func create(ctx context.Context, c *kopf.Change[Example]) error {
	pod := podFor(c)
	pods, err := podsIn(ctx, c.Namespace)
	if err != nil {
		return err
	}
	created, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	c.Logger.Info("the pod is created", "pod", created.GetName())
	c.Result = map[string]any{"children": []any{created.GetUID()}}
	return nil
}

// podFor describes the pod. Kubernetes gives it a name that begins as the owner's.
func podFor(c *kopf.Change[Example]) *unstructured.Unstructured {
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
	// In the namespace of its owner, with its labels, and deleted with it.
	kopf.Adopt(pod, c)
	return pod
}

// podsIn is a client with the operator's credentials.
func podsIn(ctx context.Context, namespace string) (dynamic.ResourceInterface, error) {
	client, err := dynamic.NewForConfig(kopf.RESTConfig(ctx))
	if err != nil {
		return nil, err
	}
	return client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(namespace), nil
}
