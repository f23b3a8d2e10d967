// Package children keeps a pod for each object.
package children

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/manifest"
)

// Example has the fields that the handler reads.
type Example struct {
	Spec struct {
		Duration string `json:"duration"`
		Field    string `json:"field"`
	} `json:"spec"`
}

// Register registers the handler. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	kopf.OnReconcile(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), reconcile,
		kopf.Own{Resource: kopf.Resource("v1", "pods")})
}

// reconcile keeps the pod. Most fields of a pod cannot be changed, so its name depends on them: a change creates another
// pod, and the previous pod is deleted.
func reconcile(ctx context.Context, p *kopf.Pass[Example]) error {
	return p.Apply(ctx, podFor(p.Name, p.Object))
}

// podFor returns the pod of an object.
func podFor(name string, e *Example) *corev1.Pod {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name:    "the-only-one",
		Image:   "busybox",
		Command: []string{"sh", "-x", "-c"},
		Args:    []string{"echo FIELD=$FIELD; sleep " + cmp.Or(e.Spec.Duration, "0")},
		Env:     []corev1.EnvVar{{Name: "FIELD", Value: cmp.Or(e.Spec.Field, "default-value")}},
	}}}}
	pod.Name = manifest.NameOf(name, manifest.Checksum(pod.Spec))
	return pod
}
