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
	Type    string // type of the event of a child or a watched object
	Child   *Child // child or watched object that has changed; nil for other reasons
	Changes object.Diff

	Patient bool // the pass can wait for some seconds: see [Budget]
}

// List has the reasons for a pass, the oldest first.
type List []Wake

// maxWakes is the number of reasons that a pass has at most.
const maxWakes = 16

// Add adds a reason. It joins reasons of the same kind about the same object. With maxWakes reasons, it drops a reason
// about a child or a watched object. If a reason is not patient, the list stays so until the pass.
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
	case len(*l) == maxWakes: // a reason about a child or a watched object makes room
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

// Patient reports whether the pass can wait. The pass for an empty list can.
func (l List) Patient() bool {
	return !slices.ContainsFunc(l, func(w Wake) bool { return !w.Patient })
}

// Hurry makes a list impatient.
func (l List) Hurry() {
	for i := range l {
		l[i].Patient = false
	}
}
