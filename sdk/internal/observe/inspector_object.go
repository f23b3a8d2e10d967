package observe

import (
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/planning"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// inspectedObjects are the objects that the operator remembers.
type inspectedObjects struct {
	mu    sync.Mutex
	m     map[*Identity]*inspectedObject
	byKey map[objectKey]*inspectedObject
}

// inspectedObject passes the events about one object on to [shown.after], and publishes the results. The object's worker,
// daemons and watch stream emit the events. All methods do nothing on nil.
type inspectedObject struct {
	inspector *Inspector
	key       objectKey

	mu      sync.Mutex
	shown   shown
	overdue *time.Timer // shows the deletion as stuck when it fires; nil if the object is not being deleted
	dropped bool        // the operator has forgotten the object, and publishes no state of it
}

// find returns an object; nil if no event about it has arrived, or if it was forgotten.
func (i *Inspector) find(identity *Identity) *inspectedObject {
	i.objects.mu.Lock()
	defer i.objects.mu.Unlock()
	return i.objects.m[identity]
}

// findKey returns the object with a key, as find does.
func (i *Inspector) findKey(key objectKey) *inspectedObject {
	i.objects.mu.Lock()
	defer i.objects.mu.Unlock()
	return i.objects.byKey[key]
}

// recall returns the object of a subject, which may be new; nil if it was forgotten, or if the operator does not
// remember it.
func (i *Inspector) recall(subject *Subject) *inspectedObject {
	i.objects.mu.Lock()
	defer i.objects.mu.Unlock()
	if o := i.objects.m[subject.Identity]; o != nil || subject.Identity == nil || subject.Identity.forgotten.Load() {
		return o
	}
	res, about := subject.Resource, &subject.Reference
	o := &inspectedObject{inspector: i, key: objectKeyOf(subject), shown: shown{Object: inspect.Object{
		Ref:  inspect.Ref{Resource: res.Key(), Namespace: about.Namespace, Name: about.Name, UID: about.UID},
		Kind: res.Kind, Short: shortName(res),
	}}}
	if i.objects.m == nil {
		i.objects.m, i.objects.byKey = map[*Identity]*inspectedObject{}, map[objectKey]*inspectedObject{}
	}
	i.objects.m[subject.Identity], i.objects.byKey[o.key] = o, o
	return o
}

// forget drops an object.
func (i *Inspector) forget(identity *Identity) {
	i.objects.mu.Lock()
	identity.forgotten.Store(true)
	o := i.objects.m[identity]
	delete(i.objects.m, identity)
	if o != nil && i.objects.byKey[o.key] == o {
		delete(i.objects.byKey, o.key)
	}
	i.objects.mu.Unlock()
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropped = true
	o.stopWatchingDeletion()
	if planning.On() {
		// A plan also shows the handlers of objects that were deleted.
		last := o.shown.Object
		last.State = inspect.StateSettled
		i.put(last)
	} else {
		i.drop(o.shown.Ref)
	}
	i.dropAlarms(o.shown.Ref)
	i.processed(o.key, false)
}

// receive handles an event about the object. The event is nil if only the passing of time may have changed the state.
func (o *inspectedObject) receive(event Event) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dropped {
		return
	}
	now := time.Now()
	var publish bool
	if o.shown, publish = o.shown.after(event, now); publish {
		o.watchDeletion(now)
		o.inspector.put(o.shown.Object)
	}
}

// watchDeletion shows the deletion as stuck when it takes too long, since no event reports that.
func (o *inspectedObject) watchDeletion(now time.Time) {
	left := stuckAfter - now.Sub(o.shown.deleting)
	switch {
	case !o.shown.isHeld() || left <= 0:
		o.stopWatchingDeletion()
	case o.overdue == nil:
		o.overdue = time.AfterFunc(left, func() { o.receive(nil) })
	}
}

func (o *inspectedObject) stopWatchingDeletion() {
	if o.overdue != nil {
		o.overdue.Stop()
		o.overdue = nil
	}
}

// shortName returns the first short name of a resource; without one, the singular or the plural name.
func shortName(res *resources.Resource) string {
	if len(res.Shortcuts) > 0 {
		return res.Shortcuts[0]
	}
	if res.Singular != "" {
		return res.Singular
	}
	return res.Plural
}
