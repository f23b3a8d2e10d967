// Package reasons has the reasons for the passes of reconcile handlers.
package reasons

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
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
func (l List) Patient() bool { return !slices.ContainsFunc(l, func(w Wake) bool { return !w.Patient }) }

// Hurry makes all reasons impatient.
func (l List) Hurry() {
	for i := range l {
		l[i].Patient = false
	}
}

// Child describes a version of a child, usually the newest version that the operator has received.
type Child struct {
	Resource *resources.Resource
	children.Digest
	Lens *children.Lens // the lens that made the digest
}

// Same reports whether two children have the same resource, namespace and name. It returns true for two nils.
func (c *Child) Same(o *Child) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.Resource.Key() == o.Resource.Key() && c.Name == o.Name && c.Namespace() == o.Namespace()
}

// Observed returns the values of the fields in [children.Lens.Observe], as a tree.
func (c *Child) Observed() (map[string]any, error) { return c.Lens.ObservedFields(&c.Digest) }

// String returns the kind with the name, such as "Deployment shop".
func (c *Child) String() string { return c.Resource.Kind + " " + c.Name }
