package kopf

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// RefersTo is an option of [OnReconcile] for objects of another resource that the parent names in its fields, such as the Secret
// in "spec.tlsSecret". When such an object is created, changed or deleted, the handler is called for all parents that name it.
// [Pass.Versions] returns the versions of the objects. The operator receives and keeps only their metadata.
//
//	kopf.RefersTo(kopf.Resource("v1", "secrets"), "spec.tlsSecret", "spec.configs[*].secretName")
//
// The segment [*] stands for all items of a list, and for all values of a map. A field is a name, or a list of names. A name
// refers to the namespace of the parent, unless it is written as "namespace/name". In the fields of cluster-scoped parents, the
// names of namespaced objects need this form. An operator that serves some namespaces watches only objects in these.
//
// The selector selects one resource. Each resource can be given once.
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

// Watches is an option of [OnReconcile] for objects of another resource that concern parents which do not name the objects.
// Wakes returns the names of the parents that an object concerns; the namespace of a cluster-scoped parent is empty. When such an
// object is created, changed or deleted, the handler is called for these parents, and for the parents that wakes has returned for
// the previous version of the object. [Pass.Versions] returns the versions of the objects.
//
//	kopf.Watches(configs, func(_ context.Context, c *kopf.IndexRequest[metav1.PartialObjectMetadata]) []types.NamespacedName {
//		return []types.NamespacedName{{Namespace: c.Namespace, Name: c.Labels["example.com/shop"]}}
//	})
//
// Wakes is called for each version of each object, as the function of [NewIndex], and must be as fast. It should depend on nothing but the
// object, because it is not called when other things change. If it panics, or if the object does not decode into W, the object
// keeps its previous parents, and the operator logs the error. The request has no Memo. With W as [metav1.PartialObjectMetadata], the operator receives only the metadata
// of the objects. An operator that serves some namespaces watches only objects in these.
//
// The selector selects one resource. Each resource can be given once.
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

// watchedResource returns the selector of a watched resource; false if it is malformed.
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

// Versions returns the resourceVersions of the objects of [RefersTo] and [Watches] that concern the parent, by name, without a
// request. An object in another namespace has the key "namespace/name". Objects that do not exist are absent, and so are children of
// the parent itself. The map is nil if no option has this resource. With a checksum of the versions in the template of its pods, a
// Deployment replaces the pods when a Secret changes:
//
//	vars := manifest.Vars{"checksum": manifest.Checksum(p.Versions(secrets))}
func (p *Pass[T]) Versions(resource Selector) map[string]string {
	selector, err := resource.engine()
	if err != nil || p.pass == nil {
		return nil
	}
	return p.pass.Versions(selector)
}
