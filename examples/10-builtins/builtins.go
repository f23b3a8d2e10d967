// Package builtins deletes pods some time after it has seen them: operators are not only
// for resources of one's own.
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

// Register is what kopf dev and kopf run look for.
func Register(r *kopf.Registry) {
	register(r, &killer{delay: 30 * time.Second})
}

// register shows that handlers can be methods: that is how they share something.
func register(r *kopf.Registry, k *killer) {
	pods := kopf.Resource("v1", "pods")
	kopf.OnCreate(r, pods, k.appeared, kopf.When(isOfUsers))
	kopf.OnResume(r, pods, k.appeared, kopf.When(isOfUsers))
	kopf.OnDelete(r, pods, k.vanished, kopf.When(isOfUsers))
}

// isOfUsers keeps the operator from the pods of Kubernetes itself.
func isOfUsers(r *kopf.Request) bool { return !strings.HasPrefix(r.Namespace, "kube-") }

// killer has a timer for each pod.
type killer struct {
	delay time.Duration

	mu     sync.Mutex
	timers map[types.UID]*time.Timer
}

func (k *killer) appeared(ctx context.Context, c *kopf.Change[kopf.Object]) error {
	client, err := dynamic.NewForConfig(kopf.RESTConfig(ctx))
	if err != nil {
		return err
	}
	pods := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(c.Namespace)

	k.mu.Lock()
	defer k.mu.Unlock()
	if k.timers == nil {
		k.timers = map[types.UID]*time.Timer{}
	}
	if k.timers[c.UID] != nil {
		return nil
	}
	c.Logger.Info("the pod will be killed", "in", k.delay)
	k.timers[c.UID] = time.AfterFunc(k.delay, func() {
		c.Logger.Info("the pod is killed now")
		// The handler has ended long ago, and its context with it, perhaps.
		err := pods.Delete(context.Background(), c.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &c.UID}})
		if err != nil && !apierrors.IsNotFound(err) {
			c.Logger.Error("the pod could not be killed", "error", err)
		}
	})
	return nil
}

func (k *killer) vanished(_ context.Context, c *kopf.Change[kopf.Object]) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	timer := k.timers[c.UID]
	delete(k.timers, c.UID)
	if timer != nil && timer.Stop() {
		c.Logger.Info("the killing is cancelled: somebody was faster")
	}
	return nil
}
