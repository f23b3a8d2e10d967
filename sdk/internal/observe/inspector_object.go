package observe

import (
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// inspectedObjects are the objects that the operator remembers.
type inspectedObjects struct {
	mu    sync.Mutex
	m     map[*Identity]*inspectedObject
	byKey map[objectKey]*inspectedObject
}

// inspectedObject is what the inspector shows of one object. Its worker, its daemons and its watch-stream
// tell of it. All methods do nothing on nil.
type inspectedObject struct {
	inspector *Inspector
	key       objectKey

	mu       sync.Mutex
	object   inspect.Object
	handlers []inspect.HandlerState
	orphans  []inspect.HandlerState // of handlers that do not exist
	deleting time.Time              // when it was first seen as being deleted; zero before
	overdue  *time.Timer            // shows that the deletion is stuck; nil if that is not to come
	dropped  bool                   // the object was forgotten: nothing is published anymore
}

// find returns what is known of an object; nil if the operator does not remember it.
func (i *Inspector) find(identity *Identity) *inspectedObject {
	i.objects.mu.Lock()
	defer i.objects.mu.Unlock()
	return i.objects.m[identity]
}

// recall returns what is known of an object, which may be new; nil if it was forgotten, or if the
// operator does not remember it.
func (i *Inspector) recall(subject *Subject) *inspectedObject {
	i.objects.mu.Lock()
	defer i.objects.mu.Unlock()
	if o := i.objects.m[subject.Identity]; o != nil || subject.Identity == nil || subject.Identity.forgotten.Load() {
		return o
	}
	res, object := subject.Resource, subject.Object
	o := &inspectedObject{inspector: i, object: inspect.Object{
		Ref:  inspect.Ref{Resource: res.Key(), Namespace: object.Namespace, Name: object.Name, UID: object.UID},
		Kind: res.Kind, Short: shortName(res), Created: object.Created,
	}}
	if i.objects.m == nil {
		i.objects.m, i.objects.byKey = map[*Identity]*inspectedObject{}, map[objectKey]*inspectedObject{}
	}
	o.key = keyOf(res.Key(), object)
	i.objects.m[subject.Identity], i.objects.byKey[o.key] = o, o
	return o
}

// forget drops what is known of an object.
func (i *Inspector) forget(identity *Identity) {
	i.objects.mu.Lock()
	identity.forgotten.Store(true)
	o := i.objects.m[identity]
	delete(i.objects.m, identity)
	if o != nil && i.objects.byKey[o.key] == o {
		delete(i.objects.byKey, o.key)
	}
	i.objects.mu.Unlock()
	o.update(func(o *inspectedObject) {
		o.dropped = true
		o.stopWatchingDeletion()
		i.drop(o.object.Ref)
		i.dropAlarms(o.object.Ref)
	})
}

// update changes an object under its lock.
func (o *inspectedObject) update(change func(*inspectedObject)) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	change(o)
}

// start notes the version of the object that is processed.
func (o *inspectedObject) start(subject *Subject) {
	o.update(func(o *inspectedObject) {
		o.object.Generation = subject.Object.Generation
		if subject.Object.Deleting {
			o.noteDeletion()
		}
	})
}

// publish publishes a copy of what is known: readers keep what they are given.
func (o *inspectedObject) publish() {
	if o.dropped {
		return
	}
	object := o.object
	object.Handlers = slices.Concat(o.handlers, o.orphans)
	now := time.Now()
	object.State = o.state(now)
	o.watchDeletion(now)
	o.inspector.put(object)
}

func groupOf(h inspect.HandlerState) handlers.Group { return handlers.Family(h.Kind).Group() }

// answerSkipped shows the version that the operator's patch made.
func (o *inspectedObject) answerSkipped(e AnswerSkipped) {
	o.object.ResourceVersion = e.Subject.Object.ResourceVersion
	o.publish()
}

// patchPending shows a PATCH without an answer.
func (o *inspectedObject) patchPending(e PatchPending) {
	o.object.Unanswered = nil
	if !e.Since.IsZero() {
		o.object.Unanswered = &inspect.Unanswered{Subresource: e.Subresource, Since: e.Since}
	}
	o.publish()
}

// pausedOrResumed shows whether the object asks to be left alone.
func (o *inspectedObject) pausedOrResumed(e ObjectPaused) {
	o.object.Paused = nil
	if e.Paused {
		o.object.Paused = &inspect.ObjectPause{Reason: e.Subject.Secrets.Text(e.Reason)}
		o.object.ResourceVersion = e.Subject.Object.ResourceVersion
	}
	o.publish()
}

// finish notes that nothing is left to do about the cause.
func (o *inspectedObject) finish(now time.Time) {
	if o.object.Cause == nil || !o.object.Cause.Done.IsZero() {
		return
	}
	done := *o.object.Cause
	done.Done = now
	o.object.Cause = &done
	o.publish()
}

// maxUnreadable limits how many unreadable records of an object are kept, the newest ones.
const maxUnreadable = 20

// markBroken lists what could not be read on the object.
func (o *inspectedObject) markBroken(e MarkBroken) {
	before := o.object.Unreadable[max(0, len(o.object.Unreadable)+1-maxUnreadable):]
	o.object.Unreadable = append(slices.Clone(before), inspect.Unreadable{
		What: e.Mark.What, Where: e.Mark.Where(), Error: e.Subject.Secrets.Text(e.Mark.Err.Error()), Aside: e.Mark.Aside(),
	})
	o.publish()
}

// orphansFound lists the handlers that do not exist. They do not count for the state of the object,
// which does not wait for them.
func (o *inspectedObject) orphansFound(e OrphansFound) {
	if len(e.Orphans) == 0 && len(o.orphans) == 0 {
		return
	}
	o.orphans = nil
	for _, orphan := range e.Orphans {
		s := inspect.HandlerState{ID: orphan.ID}
		showRecord(&s, orphan.Record, e.Subject.Secrets)
		s.State = inspect.PhaseUnknown
		o.orphans = append(o.orphans, s)
	}
	o.publish()
}

// showRecord shows what the object itself says about a handler.
func showRecord(s *inspect.HandlerState, record state.Record, secrets *redact.Secrets) {
	s.Started, s.Attempt = record.Started, record.Retries
	switch {
	case record.Success:
		s.State, s.Next = inspect.PhaseDone, time.Time{}
	case record.Failure:
		s.State, s.Next = inspect.PhaseFailed, time.Time{}
	case record.Retries > 0:
		s.State, s.Next = inspect.PhaseRetrying, record.Delayed
	default:
		s.State, s.Next = inspect.PhaseNext, record.Delayed
	}
	if s.Error == nil && record.Message != "" && !record.Success {
		s.Error = &inspect.HandlerError{Kind: inspect.ErrorArbitrary, Message: secrets.Text(record.Message)}
	}
}

// shortName returns the name of a resource that people type.
func shortName(res *resources.Resource) string {
	if len(res.Shortcuts) > 0 {
		return res.Shortcuts[0]
	}
	if res.Singular != "" {
		return res.Singular
	}
	return res.Plural
}
