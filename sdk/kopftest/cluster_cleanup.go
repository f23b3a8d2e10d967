package kopftest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

const definitionKind = "CustomResourceDefinition"

// cleanUp deletes the test's objects. It runs after the operators are stopped.
func (c *Cluster) cleanUp() {
	// The cleanup has at least the default timeout, even if the test set a shorter timeout.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), max(c.timeout, defaultTimeout))
	defer cancel()
	errs := []error{c.removeWebhooks(ctx)} // first, because webhooks would review the following requests
	for _, namespace := range c.namespaces {
		errs = append(errs, c.releaseAll(ctx, namespace))
	}
	for _, o := range c.handles {
		if o.created && !slices.Contains(c.namespaces, o.Namespace) && o.resource.Kind != definitionKind {
			errs = append(errs, // a controller can add no finalizer to a deleted object
				c.delete(ctx, &o.resource, o.Namespace, o.Name), c.release(ctx, &o.resource, o.Namespace, o.Name))
		}
	}
	for _, namespace := range c.namespaces {
		errs = append(errs, c.delete(ctx, namespaces, "", namespace))
	}
	if err := errors.Join(errs...); err != nil {
		c.t.Errorf("kopftest: clean up: %v", err)
	}
}

// configurations are the resources of webhook configurations.
var configurations = []resources.Resource{
	{Group: "admissionregistration.k8s.io", Version: "v1", Plural: "validatingwebhookconfigurations", Kind: "ValidatingWebhookConfiguration"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Plural: "mutatingwebhookconfigurations", Kind: "MutatingWebhookConfiguration"},
}

// expectWebhooks records the name of the webhook configurations that an operator is going to create.
func (c *Cluster) expectWebhooks(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.managed, name) {
		c.managed = append(c.managed, name)
	}
}

// removeWebhooks deletes the recorded webhook configurations, because a killed operator does not remove its webhooks.
func (c *Cluster) removeWebhooks(ctx context.Context) error {
	c.mu.Lock()
	names := slices.Clone(c.managed)
	c.mu.Unlock()
	var errs []error
	for _, name := range names {
		for i := range configurations {
			errs = append(errs, c.delete(ctx, &configurations[i], "", name))
		}
	}
	return errors.Join(errs...)
}

// releaseAll removes the finalizers from the objects of a namespace. The operators have stopped and cannot remove them, and
// the namespace is not deleted while its objects have finalizers.
func (c *Cluster) releaseAll(ctx context.Context, namespace string) error {
	var errs []error
	for _, res := range c.touched() {
		if !res.Namespaced {
			continue
		}
		list, err := c.client.List(ctx, &res, namespace, kube.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // the definition of the resource was deleted
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("list %s: %w", res.Key(), err))
			continue // the objects of other resources can still be released
		}
		for _, object := range list.Items {
			if hasFinalizers(object) {
				errs = append(errs, c.release(ctx, &res, namespace, object.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// touched returns the resources that the test or its operators used.
func (c *Cluster) touched() []resources.Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []resources.Resource
	add := func(res resources.Resource) {
		if !slices.ContainsFunc(all, func(r resources.Resource) bool { return r.Key() == res.Key() }) {
			all = append(all, res)
		}
	}
	for _, o := range c.handles {
		add(o.resource)
	}
	for _, op := range c.operators {
		for _, served := range op.served {
			for _, res := range c.resources {
				if res.Key() == served {
					add(res)
				}
			}
		}
	}
	return all
}

func hasFinalizers(object *object.Object) bool {
	tree, err := object.Tree()
	if err != nil {
		return false
	}
	metadata, _ := tree["metadata"].(map[string]any)
	finalizers, _ := metadata["finalizers"].([]any)
	return len(finalizers) > 0
}

// release removes the finalizers from an object, if it exists.
func (c *Cluster) release(ctx context.Context, res *resources.Resource, namespace, name string) error {
	_, err := c.client.Patch(ctx, res, namespace, name, "", kube.MergePatch, []byte(`{"metadata":{"finalizers":null}}`))
	return ignoreNotFound(err)
}

// delete deletes an object, if it exists.
func (c *Cluster) delete(ctx context.Context, res *resources.Resource, namespace, name string) error {
	path, err := res.Path(namespace, name, "", nil)
	if err != nil {
		return err
	}
	_, err = c.client.Do(ctx, kube.Request{Method: http.MethodDelete, Path: path, Resource: res})
	return ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
