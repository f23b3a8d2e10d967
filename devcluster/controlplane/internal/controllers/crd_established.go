package controllers

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// establishedDelay is the age up to which the API server considers a CRD just
	// established. It delays creations of its objects for the sake of other API servers of
	// the cluster, which do not exist here.
	establishedDelay = 2 * time.Second
	// backdating must exceed establishedDelay, even if times are rounded to seconds.
	backdating = 10 * time.Second
)

// RunCRDBackdating sets the time at which CRDs were established to an earlier one, so that
// their objects can be created without a delay. It runs until the context is cancelled.
func RunCRDBackdating(ctx context.Context, cfg *rest.Config) error {
	client, err := clientset.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("configure the backdating of CRDs: %w", err)
	}
	factory := externalversions.NewSharedInformerFactory(client, 0)
	handle := func(o any) {
		crd, ok := o.(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			return
		}
		// After a conflict, another event follows. A failure costs a delay of two seconds.
		if err := backdate(ctx, client, crd, time.Now()); err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Cannot backdate a CRD", "crd", crd.Name)
		}
	}
	if _, err := factory.Apiextensions().V1().CustomResourceDefinitions().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    handle,
		UpdateFunc: func(_, o any) { handle(o) },
	}); err != nil {
		return fmt.Errorf("watch the CRDs: %w", err)
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
	return nil
}

func backdate(ctx context.Context, client clientset.Interface, crd *apiextensionsv1.CustomResourceDefinition, now time.Time) error {
	changed := backdated(crd, now)
	if changed == nil {
		return nil
	}
	_, err := client.ApiextensionsV1().CustomResourceDefinitions().UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// backdated returns a backdated copy, or nil if the CRD is not just established.
func backdated(crd *apiextensionsv1.CustomResourceDefinition, now time.Time) *apiextensionsv1.CustomResourceDefinition {
	for n, c := range crd.Status.Conditions {
		if c.Type != apiextensionsv1.Established || c.Status != apiextensionsv1.ConditionTrue {
			continue
		}
		if now.Sub(c.LastTransitionTime.Time) > establishedDelay {
			return nil
		}
		changed := crd.DeepCopy()
		changed.Status.Conditions[n].LastTransitionTime = metav1.NewTime(now.Add(-backdating))
		return changed
	}
	return nil
}
