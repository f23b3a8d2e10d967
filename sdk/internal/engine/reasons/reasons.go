// Package reasons has the reasons for the passes of reconcile handlers.
package reasons

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Wake is a reason for a pass.
type Wake struct {
	Kind    inspect.WakeKind
	Type    string      // type of the event of Child; empty without a child
	Child   *Child      // child or watched object that has changed; nil for other reasons
	Changes object.Diff // changed fields of the child that decide about its state, or that the handler observes

	Patient bool // the pass may wait for some seconds: see [Budget]
}

// List has the reasons for a pass, the oldest first.
type List []Wake

// maxWakes is the maximum number of reasons for a pass.
const maxWakes = 16

// Add adds a reason. It joins reasons of one kind about one object. If the list is full, it drops a reason about a child or a
// watched object. After an impatient reason, the list stays impatient, even if Add drops this reason.
func (l *List) Add(w Wake) {
	i := slices.IndexFunc(*l, func(o Wake) bool { return o.Kind == w.Kind && o.Child.Same(w.Child) })
	switch {
	case i >= 0 && w.Child != nil:
		w.Changes = append((*l)[i].Changes, w.Changes...)
		w.Patient = w.Patient && (*l)[i].Patient
		*l = append(slices.Delete(*l, i, i+1), w)
	case i >= 0:
	case len(*l) == maxWakes && w.Child != nil:
		(*l)[0].Patient = (*l)[0].Patient && w.Patient
	case len(*l) == maxWakes: // make room for a reason without an object; there are fewer than maxWakes kinds of these
		first := slices.IndexFunc(*l, func(o Wake) bool { return o.Child != nil })
		*l = append(slices.Delete(*l, first, first+1), w)
	default:
		*l = append(*l, w)
	}
}

// Unprovoked reports whether all reasons for a pass are WakeStart or WakeVerify.
func (l List) Unprovoked() bool {
	return !slices.ContainsFunc(l, func(w Wake) bool { return w.Kind != inspect.WakeStart && w.Kind != inspect.WakeVerify })
}

// Patient reports whether all reasons are patient. It returns true for an empty list.
func (l List) Patient() bool {
	return !slices.ContainsFunc(l, func(w Wake) bool { return !w.Patient })
}

// Hurry makes all reasons impatient.
func (l List) Hurry() {
	for i := range l {
		l[i].Patient = false
	}
}
