package uninstall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/printable"
)

const (
	// pageSize is the number of objects that one request lists.
	pageSize = 500
	// workers is the number of objects that are changed at the same time.
	workers = 8
	// attempts is the maximal number of attempts to change an object.
	attempts = 6
	// firstPause is the pause after the first of them; it doubles.
	firstPause = 250 * time.Millisecond
)

// Target is a finalizer of an operator, and where it may be.
type Target struct {
	Finalizer  string
	Resources  []schema.GroupVersionResource
	Namespaces []string // empty for the whole cluster
}

// Object is an object that has the finalizer.
type Object struct {
	Resource  schema.GroupVersionResource
	Namespace string // empty for objects of none
	Name      string

	// Deleting means that the object is deleted as soon as it has no finalizers.
	Deleting bool

	finalizers      []string
	resourceVersion string
}

// String returns the object as kubectl names it.
func (o Object) String() string {
	name := o.Resource.GroupResource().String() + "/" + o.Name
	if o.Namespace != "" {
		name += " in " + o.Namespace
	}
	return name
}

// Finalizers finds and removes the finalizers of an operator.
type Finalizers struct {
	client metadata.Interface
	target Target
	pause  time.Duration
}

// NewFinalizers returns what finds and removes the finalizers of a target.
func NewFinalizers(config *rest.Config, target Target) (*Finalizers, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the server limits the requests
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", printable.Error(err))
	}
	return &Finalizers{client: client, target: target, pause: firstPause}, nil
}

// Find returns the objects that have the finalizer. A resource that the cluster does not have, has none.
func (f *Finalizers) Find(ctx context.Context) ([]Object, error) {
	namespaces := f.target.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	var all []Object
	for _, resource := range f.target.Resources {
		for _, namespace := range namespaces {
			found, err := f.list(ctx, resource, namespace)
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", resource.GroupResource(), printable.Error(err))
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// list returns the objects of one resource that have the finalizer. It begins again if the server has
// forgotten where it was.
func (f *Finalizers) list(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]Object, error) {
	var found []Object
	options := metav1.ListOptions{Limit: pageSize}
	for again := 0; ; {
		page, err := f.client.Resource(resource).Namespace(namespace).List(ctx, options)
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case apierrors.IsResourceExpired(err) && again < attempts:
			again++
			found, options.Continue = nil, ""
			continue
		case err != nil && transient(err) && again < attempts:
			if err := wait(ctx, f.pause<<again); err != nil {
				return nil, err
			}
			again++
			continue
		case err != nil:
			return nil, err
		}
		for i := range page.Items {
			if o := &page.Items[i]; slices.Contains(o.Finalizers, f.target.Finalizer) {
				found = append(found, object(resource, o))
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return found, nil
		}
	}
}

func object(resource schema.GroupVersionResource, o *metav1.PartialObjectMetadata) Object {
	return Object{
		Resource: resource, Namespace: o.Namespace, Name: o.Name, Deleting: o.DeletionTimestamp != nil,
		finalizers: o.Finalizers, resourceVersion: o.ResourceVersion,
	}
}

// Remove removes the finalizer from the objects. It calls done after each, which has the error if the
// finalizer is still there. It goes on after an error, and returns how many objects it has failed with.
func (f *Finalizers) Remove(ctx context.Context, objects []Object, done func(Object, error)) (failed int) {
	next := make(chan Object)
	var group sync.WaitGroup
	var mu sync.Mutex
	for range min(workers, len(objects)) {
		group.Go(func() {
			for o := range next {
				err := f.remove(ctx, o)
				mu.Lock()
				if err != nil {
					failed++
				}
				done(o, err)
				mu.Unlock()
			}
		})
	}
	for _, o := range objects {
		next <- o
	}
	close(next)
	group.Wait()
	return failed
}

// remove removes the finalizer from one object, whoever changes it meanwhile. An object that is gone is a
// success.
func (f *Finalizers) remove(ctx context.Context, o Object) error {
	client := f.client.Resource(o.Resource).Namespace(o.Namespace)
	var last error
	for attempt := range attempts {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if attempt > 0 {
			if err := wait(ctx, f.pause<<(attempt-1)); err != nil {
				return err
			}
			now, err := client.Get(ctx, o.Name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				return nil
			case err != nil:
				last = err
				continue
			}
			o = object(o.Resource, now)
		}
		if !slices.Contains(o.finalizers, f.target.Finalizer) {
			return nil
		}
		_, err := client.Patch(ctx, o.Name, types.MergePatchType, f.patch(o), metav1.PatchOptions{})
		switch {
		case err == nil, apierrors.IsNotFound(err):
			return nil
		case !apierrors.IsConflict(err) && !transient(err):
			return printable.Error(err)
		}
		last = err
	}
	return fmt.Errorf("after %d attempts: %w", attempts, printable.Error(last))
}

// patch returns the patch that removes the finalizer from this version of the object, and no other's.
func (f *Finalizers) patch(o Object) []byte {
	kept := slices.DeleteFunc(slices.Clone(o.finalizers), func(name string) bool { return name == f.target.Finalizer })
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": kept, "resourceVersion": o.resourceVersion}})
	if err != nil {
		panic(err) // texts encode
	}
	return body
}

// transient reports whether a request may succeed later.
func transient(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code == 429 || code >= 500
	}
	return true // of the network
}

// wait pauses unless the context ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
