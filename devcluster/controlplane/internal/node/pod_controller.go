package node

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// workers is the number of pods that are handled concurrently.
const workers = 4

// podController moves pods through their phases.
type podController struct {
	client    kubernetes.Interface
	pods      listers.PodLister
	queue     workqueue.TypedRateLimitingInterface[cache.ObjectName]
	addresses *addresses
}

// Run simulates the node until the context is cancelled.
func Run(ctx context.Context, cfg *rest.Config, version string) error {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("configure the simulated node: %w", err)
	}
	if err := register(ctx, client, version, runtime.GOARCH); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods()
	k := &podController{
		client: client, pods: pods.Lister(), addresses: newAddresses(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
	}
	registration, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    k.changed,
		UpdateFunc: func(_, o any) { k.changed(o) },
		DeleteFunc: k.gone,
	})
	if err != nil {
		return fmt.Errorf("watch the pods: %w", err)
	}
	factory.Start(ctx.Done())
	// The addresses of all pods must be known before a new one is assigned.
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return context.Cause(ctx)
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { k.work(ctx) })
	}
	<-ctx.Done()
	k.queue.ShutDown()
	wg.Wait()
	factory.Shutdown()
	return nil
}

func (k *podController) changed(o any) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	k.addresses.keep(p.Status.PodIP, string(p.UID))
	k.queue.Add(cache.MetaObjectToName(p))
}

func (k *podController) gone(o any) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	if p, ok := o.(*corev1.Pod); ok {
		k.addresses.release(p.Status.PodIP, string(p.UID))
	}
}

func (k *podController) work(ctx context.Context) {
	for {
		name, shutdown := k.queue.Get()
		if shutdown {
			return
		}
		switch err := k.handle(ctx, name); {
		case err == nil:
			k.queue.Forget(name)
		case ctx.Err() != nil:
		default:
			// Conflicts are normal: the cache was stale.
			if !apierrors.IsConflict(err) {
				klog.FromContext(ctx).Error(err, "Cannot simulate a pod; retrying", "pod", name)
			}
			k.queue.AddRateLimited(name)
		}
		k.queue.Done(name)
	}
}

func (k *podController) handle(ctx context.Context, name cache.ObjectName) error {
	p, err := k.pods.Pods(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the pod: %w", err)
	}
	if err := k.perform(ctx, p, next(p)); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

func (k *podController) perform(ctx context.Context, p *corev1.Pod, s step) error {
	pods := k.client.CoreV1().Pods(p.Namespace)
	switch s {
	case bind:
		err := pods.Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: p.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: Name},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("bind the pod: %w", err)
		}
	case report:
		changed := p.DeepCopy()
		ip := p.Status.PodIP
		if ip == "" {
			ip = k.addresses.take(string(p.UID))
		}
		changed.Status = status(p, ip, metav1.Now())
		if _, err := pods.UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err != nil {
			k.addresses.release(ip, string(p.UID))
			return fmt.Errorf("report the pod: %w", err)
		}
	case finish:
		now := int64(0)
		err := pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.UID}})
		if err != nil {
			return fmt.Errorf("complete the deletion of the pod: %w", err)
		}
	case nothing:
	}
	return nil
}
