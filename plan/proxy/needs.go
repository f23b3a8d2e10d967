package proxy

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/plan/copy"
)

// need is a resource that the control plane reads when it creates an object of another resource.
type need struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

// needs are the resources that the control plane reads, by the resource of the created object.
var needs = map[schema.GroupResource][]need{
	{Resource: "pods"}: {
		{resource: schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}, namespaced: true},
		{resource: schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}},
		{resource: schema.GroupVersionResource{Group: "node.k8s.io", Version: "v1", Resource: "runtimeclasses"}},
	},
	{Resource: "persistentvolumeclaims"}: {
		{resource: schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}},
	},
	{Group: "networking.k8s.io", Resource: "ingresses"}: {
		{resource: schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingressclasses"}},
	},
}

// ensureNeeds loads the namespace of a new object, and the objects that the control plane reads when it creates the object.
func (l *loader) ensureNeeds(ctx context.Context, i info) error {
	if i.verb == readingVerb {
		return nil
	}
	if i.namespace != "" {
		if err := l.home(ctx, i.namespace); err != nil {
			return err
		}
	}
	for _, n := range needs[i.resource.GroupResource()] {
		scope := copy.Scope{Resource: n.resource}
		if n.namespaced {
			scope.Namespace = i.namespace
		}
		refused, err := l.scope(ctx, scope)
		if err != nil {
			return err
		}
		if refused != nil {
			l.note(n.resource, scope.Namespace, refused.Message)
		}
	}
	return nil
}
