package observe

import (
	"maps"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// The operator is settled when all streams are listed, and all objects are processed and have no work left.

// objectKey identifies an object that the operator may not remember yet.
type objectKey struct {
	resource string
	object   string // uid; for an object without a uid, its namespace and name
}

func keyOf(resource string, obj *object.Object) objectKey {
	return newObjectKey(resource, obj.Namespace, obj.Name, obj.UID)
}

func objectKeyOf(subject *Subject) objectKey {
	about := &subject.Reference
	return newObjectKey(subject.Resource.Key(), about.Namespace, about.Name, about.UID)
}

func newObjectKey(resource, namespace, name, uid string) objectKey {
	if uid == "" {
		uid = namespace + "/" + name
	}
	return objectKey{resource, uid}
}

// eventReceived records that an object of a list awaits processing.
func (i *Inspector) eventReceived(e EventReceived) {
	if e.Event.Type != watch.Listed {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.unseen[keyOf(e.Stream.Resource, e.Event.Object)] = e.Stream
}

// processed records that an object was processed, or that its conditions are written later.
func (i *Inspector) processed(key objectKey, unwritten bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if unwritten {
		i.unseen[key] = resources.Scope{} // the next cycle replaces it, also after a pause
	} else if _, unseen := i.unseen[key]; !unseen {
		return
	} else if delete(i.unseen, key); len(i.unseen) > 0 {
		return
	}
	i.publishSettled()
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

// streamListed records that a stream has listed its objects, or has stopped without it. The lock must be held.
func (i *Inspector) streamListed(stream resources.Scope) {
	if _, pending := i.pending[stream]; pending {
		delete(i.pending, stream)
		i.publishServed()
	}
}

// publishSettled publishes whether the operator is settled. The lock must be held.
func (i *Inspector) publishSettled() {
	settled := len(i.busy) == 0 && len(i.pending) == 0 && len(i.unseen) == 0
	i.hub.UpdateOperator(func(op *inspect.Operator) { op.Settled = settled })
}

// setCatchUp publishes the progress of handling the objects of listings.
func (i *Inspector) setCatchUp(e CatchUpChanged) {
	i.hub.UpdateOperator(func(op *inspect.Operator) {
		op.CatchUp = nil
		if e.Objects > 0 {
			op.CatchUp = &inspect.CatchUp{Handled: e.Handled, Objects: e.Objects}
		}
	})
}

// put publishes an object.
func (i *Inspector) put(o inspect.Object) {
	i.hub.PutObject(o)
	settled := o.State == inspect.StateSettled || o.State == inspect.StateIgnored || o.State == inspect.StatePaused ||
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

// drop publishes that an object was deleted, or is no longer served.
func (i *Inspector) drop(ref inspect.Ref) {
	i.hub.DropObject(ref)
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, busy := i.busy[ref]; busy {
		delete(i.busy, ref)
		i.publishSettled()
	}
}
