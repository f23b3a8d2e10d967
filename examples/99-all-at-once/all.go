// Package allatonce has a handler of almost every kind, to see how they work together.
package allatonce

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/owner"
)

const application = "kopf-example-10"

// second is the unit of all times, so that the tests can shorten it.
var second = time.Second

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	examples := kopf.Resource("kopfexamples")
	kopf.OnStartup(r, startupSimple)
	kopf.OnStartup(r, startupRetried)
	kopf.OnCleanup(r, cleanup)
	kopf.OnCreate(r, examples, create1, kopf.RetryDelay(2*second), kopf.Uses(kopf.Resource("v1", "configmaps"), "get", "create"))
	kopf.OnCreate(r, examples, create2, kopf.RetryDelay(second))
	// A new cluster rejects pods for some seconds.
	kopf.OnCreate(r, examples, createPod, kopf.RetryDelay(2*second), kopf.Uses(kopf.Resource("v1", "pods"), "get", "create", "patch"))
	kopf.OnUpdate(r, examples, update)
	kopf.OnField(r, examples, "spec.lst", updateList)
	kopf.OnDelete(r, examples, deleted, kopf.WithoutFinalizer())
	kopf.OnEvent(r, kopf.Resource("v1", "pods"), podChange, kopf.Labels{"application": application})
}

func startupSimple(_ context.Context, a *kopf.Activity) error {
	a.Logger.Info("starting")
	return nil
}

// startupRetried succeeds at the fourth attempt. The operator starts only after that.
func startupRetried(_ context.Context, a *kopf.Activity) error {
	if a.Retry < 3 {
		return kopf.Temporaryf(second, "going to succeed in %ds", 3-a.Retry)
	}
	a.Logger.Info("starting after retries")
	return nil
}

func cleanup(_ context.Context, a *kopf.Activity) error {
	a.Logger.Info("cleaning up")
	return nil
}

// create1 creates a child with a client of its own, and posts events about the object and about the child. The child has the name
// of the object: if the operator ends before the success is recorded, the next attempt finds it, and makes no second one.
func create1(ctx context.Context, c *kopf.Change[kopf.Object]) error {
	job := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"step": "1"}}}
	if err := owner.Adopt(job, c.Body, owner.Options{ExactName: true}); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(kopf.RESTConfig(ctx))
	if err != nil {
		return err
	}
	configMaps := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(c.Namespace)
	name := job.GetName()
	if job, err = configMaps.Create(ctx, job, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		job, err = configMaps.Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return err
	}
	c.Recorder.Info("AnyReason", "the first job has begun")
	c.Recorder.Event("Warning", "SomeReason", "Cannot do something")
	ofJob, err := c.Recorder.For(job)
	if err != nil {
		return err
	}
	ofJob.Event("Normal", "SomeReason", "Created as part of the job1step")
	c.Result = map[string]int{"job1-status": 100}
	return nil
}

// create2 fails at first. It is retried, even if the operator is restarted in between.
func create2(_ context.Context, c *kopf.Change[kopf.Object]) error {
	if c.Retry == 0 {
		return errors.New("whoops")
	}
	c.Result = map[string]int{"job2-status": 100}
	return nil
}

// createPod makes a pod with the name of the object. A retry finds this pod, and makes no second one.
func createPod(ctx context.Context, _ *kopf.Change[kopf.Object]) error {
	return kopf.Apply(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"application": application}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "the-only-one", Image: "busybox", Command: []string{"sleep", "60"},
		}}},
	})
}

func update(_ context.Context, c *kopf.Change[kopf.Object]) error {
	for _, d := range c.Diff {
		c.Logger.Info("difference", "path", d.Path, "from", d.Old, "to", d.New)
	}
	return nil
}

func updateList(_ context.Context, c *kopf.FieldChange[[]string]) error {
	c.Logger.Info("the list has changed", "from", c.Old, "to", c.New)
	return nil
}

// deleted is optional: no finalizer keeps the object for it, so it may be too late.
func deleted(_ context.Context, c *kopf.Change[kopf.Object]) error {
	c.Logger.Info("deleted")
	return nil
}

// podChange is called only for pods with the label, such as the one of createPod.
func podChange(_ context.Context, e *kopf.Event[kopf.Object]) error {
	e.Logger.Info("This pod is special for us.")
	return nil
}
