package reconcile

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// WakeKind is the kind of reason for a pass.
type WakeKind string

// The kinds of reasons.
const (
	WakeObject  WakeKind = "object"  // the object is new, or its essence has changed
	WakeStart   WakeKind = "start"   // the operator has started, or a paced write is due
	WakeChild   WakeKind = "child"   // a child has changed
	WakeVerify  WakeKind = "verify"  // another client has changed a child, apparently in no applied field
	WakeWatched WakeKind = "watched" // an object that is no child has changed
	WakeRecheck WakeKind = "recheck" // the time of a recheck or of a wait is over, or the cluster now serves a declared kind
	WakeRetry   WakeKind = "retry"   // the last pass failed
	WakeRequest WakeKind = "request" // a person has asked for it
)

// Wake is a reason for a pass.
type Wake struct {
	Kind    WakeKind
	Type    string // type of the event of a child or a watched object
	Child   *Child // child or watched object that has changed; nil for other reasons
	Changes object.Diff
}

// maxWakes is how many reasons a pass is given.
const maxWakes = 16

// add adds a reason for a pass. It joins reasons of the same kind about the same object. With maxWakes reasons, it drops a reason
// about a child or a watched object. The lock must be held.
func (p *parent) add(w Wake) {
	i := slices.IndexFunc(p.wakes, func(o Wake) bool { return o.Kind == w.Kind && o.Child.same(w.Child) })
	switch {
	case i >= 0 && w.Child != nil:
		w.Changes = append(p.wakes[i].Changes, w.Changes...)
		p.wakes = append(slices.Delete(p.wakes, i, i+1), w)
	case i >= 0:
	case len(p.wakes) == maxWakes && w.Child != nil:
	case len(p.wakes) == maxWakes: // a reason about a child or a watched object makes room
		first := slices.IndexFunc(p.wakes, func(o Wake) bool { return o.Child != nil })
		p.wakes = append(slices.Delete(p.wakes, first, first+1), w)
	default:
		p.wakes = append(p.wakes, w)
	}
}

// unprovoked reports whether all reasons for a pass are WakeStart or WakeVerify.
func unprovoked(wakes []Wake) bool {
	return !slices.ContainsFunc(wakes, func(w Wake) bool { return w.Kind != WakeStart && w.Kind != WakeVerify })
}

// requeued returns the event with which the queue processes a parent again.
func requeued(o *object.Object) watch.Event { return watch.Event{Type: watch.Modified, Object: o} }
