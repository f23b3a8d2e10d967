// Package builtins deletes pods some time after they appear. It shows that operators can handle
// built-in resources.
package builtins

import (
	"context"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	register(r, &podDeleter{delay: 30 * time.Second})
}

// register registers methods as handlers, so that they can share a state.
func register(r *kopf.Registry, d *podDeleter) {
	pods := kopf.Resource("v1", "pods")
	kopf.OnCreate(r, pods, d.appeared, kopf.When(isUserPod), kopf.Uses(pods, "delete"))
	kopf.OnResume(r, pods, d.appeared, kopf.When(isUserPod), kopf.Uses(pods, "delete"))
	kopf.OnDelete(r, pods, d.vanished, kopf.When(isUserPod))
}

// isUserPod filters out the pods of Kubernetes itself.
func isUserPod(_ context.Context, r *kopf.Request) bool {
	return !strings.HasPrefix(r.Namespace, "kube-")
}

// podDeleter has a timer for each pod.
type podDeleter struct {
	delay time.Duration

	mu     sync.Mutex
	timers map[types.UID]*time.Timer
}

func (d *podDeleter) appeared(ctx context.Context, c *kopf.Change[kopf.Object]) error {
	client, err := dynamic.NewForConfig(kopf.RESTConfig(ctx))
	if err != nil {
		return err
	}
	pods := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(c.Namespace)

	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timers == nil {
		d.timers = map[types.UID]*time.Timer{}
	}
	if d.timers[c.UID] != nil {
		return nil
	}
	c.Logger.Info("the pod will be deleted", "in", d.delay)
	d.timers[c.UID] = time.AfterFunc(d.delay, func() {
		c.Logger.Info("deleting the pod")
		// The context of the handler may be cancelled by now.
		err := pods.Delete(context.Background(), c.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &c.UID}})
		if err != nil && !apierrors.IsNotFound(err) {
			c.Logger.Error("cannot delete the pod", "error", err)
		}
	})
	return nil
}

func (d *podDeleter) vanished(_ context.Context, c *kopf.Change[kopf.Object]) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	timer := d.timers[c.UID]
	delete(d.timers, c.UID)
	if timer != nil && timer.Stop() {
		c.Logger.Info("the pod was deleted before; its timer is cancelled")
	}
	return nil
}
