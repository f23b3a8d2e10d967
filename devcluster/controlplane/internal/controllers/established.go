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
	// settling is how long the API server takes a CRD for just established. Until then
	// it delays every creation of an object by as much, for the sake of other API
	// servers of the same cluster, which do not exist here.
	settling = 2 * time.Second
	// backdating must exceed settling, also for a clock that rounds to seconds.
	backdating = 10 * time.Second
)

// RunEstablishedShortcut makes CRDs look as if they had been established for some time, until the context ends.
func RunEstablishedShortcut(ctx context.Context, cfg *rest.Config) error {
	client, err := clientset.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("configuring the shortcut for CRDs: %w", err)
	}
	factory := externalversions.NewSharedInformerFactory(client, 0)
	handle := func(o any) {
		crd, ok := o.(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			return
		}
		// A conflict comes with another event. All that is lost is two seconds.
		if err := backdate(ctx, client, crd, time.Now()); err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Backdating a CRD", "crd", crd.Name)
		}
	}
	if _, err := factory.Apiextensions().V1().CustomResourceDefinitions().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    handle,
		UpdateFunc: func(_, o any) { handle(o) },
	}); err != nil {
		return fmt.Errorf("following the CRDs: %w", err)
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

// backdated returns a changed copy, or nil where there is no reason for one.
func backdated(crd *apiextensionsv1.CustomResourceDefinition, now time.Time) *apiextensionsv1.CustomResourceDefinition {
	for n, c := range crd.Status.Conditions {
		if c.Type != apiextensionsv1.Established || c.Status != apiextensionsv1.ConditionTrue {
			continue
		}
		if now.Sub(c.LastTransitionTime.Time) > settling {
			return nil
		}
		changed := crd.DeepCopy()
		changed.Status.Conditions[n].LastTransitionTime = metav1.NewTime(now.Add(-backdating))
		return changed
	}
	return nil
}
