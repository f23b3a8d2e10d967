package inspector

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// ClusterReader reads an object, and its events, from the API server. It is called for objects of the snapshot only.
type ClusterReader interface {
	Object(ctx context.Context, ref inspect.Ref) inspect.ObjectContent
	Events(ctx context.Context, ref inspect.Ref) inspect.ObjectEvents
}

// Object returns an object of the snapshot as the API server has it.
func (h *Hub) Object(ctx context.Context, ref inspect.Ref) inspect.ObjectContent {
	if reason := h.unreadable(ref); reason != "" {
		return inspect.ObjectContent{Error: reason}
	}
	return h.cluster.Object(ctx, ref)
}

// Events returns the Kubernetes events about an object of the snapshot.
func (h *Hub) Events(ctx context.Context, ref inspect.Ref) inspect.ObjectEvents {
	if reason := h.unreadable(ref); reason != "" {
		return inspect.ObjectEvents{Error: reason}
	}
	return h.cluster.Events(ctx, ref)
}

// unreadable returns why an object is not read for a reader, or nothing. The operator may have permissions for objects
// that it does not handle: a reader must not get them by the inspector.
func (h *Hub) unreadable(ref inspect.Ref) string {
	if ref.Name == "" {
		return "which object? name its resource, namespace, name and uid as the snapshot has them"
	}
	h.mu.Lock()
	entry := h.objects[ref]
	known := entry != nil && entry.object != nil
	h.mu.Unlock()
	if !known || h.cluster == nil {
		return "404 not found: " + ref.Name + " is not among the operator's objects; it may have been deleted"
	}
	return ""
}
