package observe

import (
	"maps"
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// The operator is settled when all streams are listed, and all objects are processed and have
// nothing left to do.

// objectKey identifies an object that the operator may not remember yet.
type objectKey struct {
	resource string
	object   string // the uid, or the namespace and name of objects without one
}

func keyOf(subject *Subject) objectKey {
	return eventKeyOf(subject.Resource.Key(), watch.Event{Object: subject.Object})
}

func eventKeyOf(resource string, event watch.Event) objectKey {
	if event.Object.UID != "" {
		return objectKey{resource, event.Object.UID}
	}
	return objectKey{resource, event.Object.Namespace + "/" + event.Object.Name}
}

// eventReceived notes that an object of a list is to be processed.
func (i *Inspector) eventReceived(e EventReceived) {
	if e.Event.Type != watch.Listed {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.unseen[eventKeyOf(e.Stream.Resource, e.Event)] = e.Stream
}

// processed notes that an object was processed.
func (i *Inspector) processed(key objectKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, unseen := i.unseen[key]; !unseen {
		return
	}
	if delete(i.unseen, key); len(i.unseen) == 0 {
		i.publishSettled()
	}
}

func (i *Inspector) streamChanged(e StreamChanged) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch e.Phase {
	case StreamStarted:
		i.pending[e.Stream] = struct{}{}
		i.publishServed()
	case StreamListed:
		i.streamListed(e.Stream)
	case StreamStopped:
		i.streamListed(e.Stream)
		maps.DeleteFunc(i.unseen, func(_ objectKey, of resources.Scope) bool { return of == e.Stream })
		i.publishSettled()
	case StreamRestarted:
	}
}

// streamListed notes that a stream need not be waited for. The lock is held.
func (i *Inspector) streamListed(stream resources.Scope) {
	if _, pending := i.pending[stream]; pending {
		delete(i.pending, stream)
		i.publishServed()
	}
}

// setServed publishes which resources are served, and which selectors have none.
func (i *Inspector) setServed(resolution *resources.Resolution) {
	i.indices.publishResources(i.hub, resolution.Served)
	unserved := i.unserved(resolution)
	i.mu.Lock()
	defer i.mu.Unlock()
	served := make([]inspect.Resource, len(resolution.Served))
	for at := range resolution.Served {
		res := &resolution.Served[at]
		served[at] = inspect.Resource{Key: res.Key(), Kind: res.Kind, Short: shortName(res), Namespaced: res.Namespaced}
	}
	i.served = inspect.Served{Resources: served, Unserved: unserved}
	i.publishServed()
}

// publishServed publishes the resources with whether they are listed. The lock is held.
func (i *Inspector) publishServed() {
	served := inspect.Served{Resources: slices.Clone(i.served.Resources), Unserved: i.served.Unserved}
	for at := range served.Resources {
		res := &served.Resources[at]
		res.Listed = true
		for stream := range i.pending {
			if stream.Resource == res.Key {
				res.Listed = false
			}
		}
	}
	i.hub.SetServed(served)
	i.publishSettled()
}

// publishSettled publishes whether the operator is settled. The lock is held.
func (i *Inspector) publishSettled() {
	settled := len(i.busy) == 0 && len(i.pending) == 0 && len(i.unseen) == 0
	i.hub.UpdateOperator(func(op *inspect.Operator) { op.Settled = settled })
}

// put publishes an object.
func (i *Inspector) put(o inspect.Object) {
	i.hub.PutObject(o)
	settled := o.State == inspect.StateSettled || o.State == inspect.StateIgnored ||
		o.State == inspect.StateFailed && (o.Cause == nil || !o.Cause.Done.IsZero())
	i.mu.Lock()
	defer i.mu.Unlock()
	_, busy := i.busy[o.Ref]
	switch {
	case settled && busy:
		delete(i.busy, o.Ref)
	case !settled && !busy:
		i.busy[o.Ref] = struct{}{}
	default:
		return
	}
	i.publishSettled()
}

// drop publishes that an object is gone, or not served anymore.
func (i *Inspector) drop(ref inspect.Ref) {
	i.hub.DropObject(ref)
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, busy := i.busy[ref]; busy {
		delete(i.busy, ref)
		i.publishSettled()
	}
}

// unserved returns the selectors that have no resources to serve, and why.
func (i *Inspector) unserved(resolution *resources.Resolution) []inspect.Unserved {
	var out []inspect.Unserved
	ambiguous := map[resources.Selector]bool{}
	for _, a := range resolution.Ambiguous {
		ambiguous[a.Selector] = true
		out = append(out, inspect.Unserved{
			Selector: a.Selector.String(), Reason: "ambiguous", Handlers: i.handlersOf(a.Selector), Matches: keysOf(a.Resources),
		})
	}
	for _, s := range resolution.Unresolved {
		if !ambiguous[s] {
			out = append(out, inspect.Unserved{Selector: s.String(), Reason: "unresolved", Handlers: i.handlersOf(s)})
		}
	}
	for _, r := range resolution.NonWatchable {
		out = append(out, inspect.Unserved{Selector: r.Key(), Reason: "unwatchable"})
	}
	for _, r := range resolution.NonPatchable {
		out = append(out, inspect.Unserved{Selector: r.Key(), Reason: "unpatchable"})
	}
	return out
}

func (i *Inspector) handlersOf(s resources.Selector) []string {
	var ids []string
	for _, h := range i.registry.All() {
		if h.Selector == s && h.Family.Group() != handlers.Activities {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

func keysOf(resources []resources.Resource) []string {
	keys := make([]string, len(resources))
	for i := range resources {
		keys[i] = resources[i].Key()
	}
	return keys
}
