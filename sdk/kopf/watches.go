package kopf

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// RefersTo is an option of [OnReconcile] that watches objects of another resource whose names are in fields of the parent, such as
// the Secret in "spec.tlsSecret". When such an object is created, changed or deleted, the operator calls the handler for all
// parents that name it. [Pass.Versions] returns the versions of the objects. The operator receives only their metadata.
//
//	kopf.RefersTo(kopf.Resource("v1", "secrets"), "spec.tlsSecret", "spec.configs[*].secretName")
//
// The segment [*] stands for all items of a list, and for all values of a map. The value of a field is a name, or a list of names.
// A name refers to the namespace of the parent, unless it is written as "namespace/name". In the fields of cluster-scoped parents,
// the names of namespaced objects need this form. An operator that serves some namespaces watches only objects in these.
//
// The selector must select a single resource, and each resource can be given once.
func RefersTo(resource Selector, names ...Path) ReconcileOption {
	return option(func(c *config) {
		watched := handlers.Watched{MetadataOnly: true}
		var ok bool
		if watched.Selector, ok = c.watchedResource("RefersTo", resource, false); !ok {
			return
		}
		if len(names) == 0 {
			c.fail("RefersTo: no field of the object names %s; add a path such as \"spec.tlsSecret\"", watched.Selector)
		}
		for _, name := range names {
			path, err := name.parse()
			switch {
			case err != nil:
				c.fail("RefersTo: the names of %s: %v", watched.Selector, err)
			case len(path) == 0:
				c.fail("RefersTo: the names of %s: the path is empty", watched.Selector)
			}
			watched.Names = append(watched.Names, path)
		}
		c.Watches = append(c.Watches, watched)
	})
}

// Watches is an option of [OnReconcile] that watches objects of another resource, and calls the function wakes to find the parents
// of each object. Wakes returns the names of parents; the namespace of a cluster-scoped parent is empty. When an object is created,
// changed or deleted, the operator calls the handler for these parents, and for the parents of the object's previous version.
// [Pass.Versions] returns the versions of the objects.
//
//	kopf.Watches(configs, func(_ context.Context, c *kopf.IndexRequest[metav1.PartialObjectMetadata]) []types.NamespacedName {
//		return []types.NamespacedName{{Namespace: c.Namespace, Name: c.Labels["example.com/shop"]}}
//	})
//
// The operator calls wakes for each version of each object, like the function of [NewIndex], and wakes must be as fast. It should
// depend only on the object, because it is not called when anything else changes. If it panics, or if the object cannot be decoded
// into W, the object keeps its previous parents, and the operator logs the error. The request has no Memo. If W is
// [metav1.PartialObjectMetadata], the operator receives only the metadata of the objects. An operator that serves some namespaces
// watches only objects in these.
//
// The selector must select a single resource, and each resource can be given once.
func Watches[W any](resource Selector, wakes func(context.Context, *IndexRequest[W]) []types.NamespacedName) ReconcileOption {
	return option(func(c *config) {
		watched := handlers.Watched{MetadataOnly: reflect.TypeFor[W]() == reflect.TypeFor[metav1.PartialObjectMetadata]()}
		var ok bool
		if watched.Selector, ok = c.watchedResource("Watches", resource, true); !ok {
			return
		}
		if wakes == nil {
			c.fail("Watches: the function of %s is nil", watched.Selector)
		}
		watched.Map = func(ctx context.Context, call *handlers.Call) ([]types.NamespacedName, error) {
			request, err := indexRequestOf[W](call.Cause, call)
			if err != nil {
				return nil, err
			}
			return wakes(ctx, request), nil
		}
		c.Watches = append(c.Watches, watched)
	})
}

// watchedResource returns the selector of a watched resource; false if the selector is malformed. It adds all errors to the
// registration errors.
func (c *config) watchedResource(name string, resource Selector, mapped bool) (resources.Selector, bool) {
	selector, err := resource.engine()
	if err != nil {
		c.fail("%s: %v", name, err)
		return selector, false
	}
	if !selector.Specific() {
		c.fail("%s: %s selects several resources; give each a %s", name, selector, name)
	}
	for _, known := range c.Handler.Watches {
		if known.Selector == selector && (known.Map != nil) == mapped {
			c.fail("%s: %s is given twice; remove one", name, selector)
		}
	}
	return selector, true
}

// Versions returns the resourceVersions of the parent's objects of [RefersTo] and [Watches], by name, without a request. The key
// of an object in another namespace is "namespace/name". The map lacks objects that do not exist, and children of the parent
// itself. It is nil if neither option has this resource. With a checksum of the versions in its pod template, a Deployment
// replaces its pods when a Secret changes:
//
//	vars := manifest.Vars{"checksum": manifest.Checksum(p.Versions(secrets))}
func (p *Pass[T]) Versions(resource Selector) map[string]string {
	selector, err := resource.engine()
	if err != nil || p.pass == nil {
		return nil
	}
	return p.pass.Versions(selector)
}
