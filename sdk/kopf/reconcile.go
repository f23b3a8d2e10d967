package kopf

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/engine/reconcile"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// OnReconcile registers the handler that keeps the children of an object in their desired state. Children are objects of the
// kinds that [Own] declares. The operator calls the handler for the reasons that [WakeKind] lists, with the newest state of the
// object; several reasons make one call. It does not call the handler for an object that is being deleted. The cluster's garbage
// collection deletes the children of the object, except for children with [Own].Keep. The operator itself deletes
// children with [Own].DeleteFirst, and children elsewhere.
//
// Retries and waits of an OnReconcile handler do not delay the other handlers of the object. A resource has at most one
// OnReconcile handler, with the id "reconcile", unless [ID] sets another. See [Children].
//
// [Children]: https://github.com/kopf-dev/kopf/blob/main/docs/secondary-resources.md
func OnReconcile[T any](r *Registry, resource Selector, fn func(context.Context, *Pass[T]) error, opts ...ReconcileOption) {
	c := applyAll(opts, ReconcileOption.reconcile)
	if c.id == "" {
		c.id = "reconcile"
	}
	r.passes = reconcile.NewPasses
	add(r, handlers.Reconcile, resource, fn, callPass(fn), c)
}

// Own is an option of [OnReconcile] that declares a kind of children. The operator watches the children of this kind, and no
// other objects of the kind. By default, it takes back the fields that others change, and deletes the children that a complete
// pass has not applied.
type Own struct {
	// Resource is the resource of the children, such as Resource("apps/v1", "deployments"). It selects one resource. Each
	// resource can be declared once. Children are pruned in the reverse order of the declarations.
	Resource Selector

	// Drift decides about applied fields that others have changed. Defaults to [RevertDrift]. A field that was
	// changed through the scale subresource always stays with its new owner, so that autoscalers work.
	Drift DriftPolicy

	// Observe lists the fields of the children that the operator keeps in addition to their state. The handler reads these
	// fields in [Child.Observed], and is called when one of the fields changes.
	Observe []Path

	// ReadyIf decides whether a child is ready, in place of the rules of kstatus: nil means ready, and the text of an error is
	// the [Child].Message. An error of [Permanentf] makes the state [ChildFailed]. A child that is being deleted, or whose
	// status.observedGeneration is old, is not ready in any case. The operator calls the function for each version of a child,
	// not concurrently for the same kind; it must be fast, and must not call the methods of a [Pass]. With ReadyIf, the operator
	// receives the whole children, also the contents of Secrets.
	ReadyIf func(child *Object) error

	// ReadyWithin is how long a child may be not ready before its state is [ChildFailed] and the handler is called. It counts
	// from the child's creation, its last change by the operator, or the loss of its readiness. If the operator restarts, it
	// counts from the newest change of the child's conditions or, without conditions, from the restart. Zero means no limit.
	ReadyWithin time.Duration

	// Once lists the fields of the children that are applied at the creation only, such as "data" of a Secret with a random
	// password. Later, the operator neither changes nor restores the fields. An adopted object keeps its fields.
	// A path must not begin with apiVersion, kind, metadata, status or stringData.
	Once []Path

	// Adopt takes over an existing object with the name of a child if no controller owns the object. By default, [Pass.Apply]
	// returns a permanent error for such an object.
	Adopt bool

	// Keep makes children that outlive their parent and are never pruned. They have no owner reference.
	Keep bool

	// Recreate deletes a child and creates it anew if the API server refuses to change a field, and would accept the same child as
	// a new one. The value decides about the dependents of the deleted child: [metav1.DeletePropagationBackground] and
	// [metav1.DeletePropagationForeground] delete them, and [metav1.DeletePropagationOrphan] leaves them to the new child, such as
	// the pods of a StatefulSet. Empty by default: [Pass.Apply] then returns a permanent error.
	Recreate metav1.DeletionPropagation

	// DeleteFirst deletes the children of this kind before their parent, in the reverse order of the declarations, after all handlers of the
	// deletion. The operator's finalizer keeps the parent until the last of them is deleted. By default, Kubernetes deletes
	// the children after the parent, in any order.
	DeleteFirst bool

	// Elsewhere permits children outside of the parent's namespace, also cluster-scoped ones. Kubernetes does not delete such
	// children with their parent, so the operator does, as with DeleteFirst. The operator watches this kind in all namespaces.
	Elsewhere bool

	// Prune also prunes namespaces, persistent volume claims and resource definitions. By default, these stay, because
	// their deletion also deletes data or other objects.
	Prune bool
}

func (o Own) reconcile(c *config) {
	selector, err := o.Resource.engine()
	if err != nil {
		c.fail("Own: %v", err)
		return
	}
	if !selector.Specific() {
		c.fail("Own: %s selects several resources; declare each with an Own", selector)
	}
	if o.Keep && o.Prune {
		c.fail("Own: children of %s are either kept or pruned; remove Keep or Prune", selector)
	}
	if o.Keep && o.DeleteFirst {
		c.fail("Own: children of %s are either kept or deleted first; remove Keep or DeleteFirst", selector)
	}
	if o.Keep && o.Recreate != "" {
		c.fail("Own: children of %s are either kept or created anew; remove Keep or Recreate", selector)
	}
	switch o.Recreate {
	case "", metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan:
	default:
		c.fail("Own: the Recreate of %s is %q; want Background, Foreground or Orphan", selector, o.Recreate)
	}
	if o.ReadyWithin < 0 {
		c.fail("Own: the ReadyWithin of %s is %s; want a positive duration, or 0 for no limit", selector, o.ReadyWithin)
	}
	if o.Drift < RevertDrift || o.Drift > YieldDrift {
		c.fail("Own: the Drift of %s is %d; want RevertDrift, ReportDrift or YieldDrift", selector, o.Drift)
	}
	for _, known := range c.Owns {
		if known.Selector == selector {
			c.fail("Own: %s is declared twice; remove one", selector)
		}
	}
	owned := handlers.Owned{Selector: selector, Drift: handlers.DriftPolicy(o.Drift), Adopt: o.Adopt, Keep: o.Keep, Prune: o.Prune, Elsewhere: o.Elsewhere, DeleteFirst: o.DeleteFirst, Recreate: string(o.Recreate), ReadyWithin: o.ReadyWithin}
	if o.ReadyIf != nil {
		owned.ReadyIf = func(child *object.Object) error { return engineError(o.ReadyIf(objectOfWire(child))) }
	}
	for _, path := range o.Observe {
		fixed, err := path.fixed()
		if err != nil {
			c.fail("Own: Observe of %s: %v", selector, err)
			continue
		}
		owned.Observe = append(owned.Observe, fixed)
	}
	for _, path := range o.Once {
		fixed, err := path.fixed()
		if err == nil {
			err = appliedOnce(fixed)
		}
		if err != nil {
			c.fail("Own: Once of %s: %v", selector, err)
			continue
		}
		owned.Once = append(owned.Once, fixed)
	}
	c.Owns = append(c.Owns, owned)
}

// appliedOnce returns an error for a field that cannot be applied once.
func appliedOnce(field object.Path) error {
	if len(field) == 0 {
		return errors.New("the path is empty")
	}
	switch field[0] {
	case "apiVersion", "kind", "metadata", "status":
		return fmt.Errorf("%s cannot be applied once; name fields such as data or spec.size", field)
	case "stringData":
		return fmt.Errorf("%s is applied as data; name data", field)
	}
	return nil
}

// DriftPolicy decides about fields of a child that the operator has applied and others have changed since.
type DriftPolicy int

// The values of [Own].Drift.
const (
	RevertDrift DriftPolicy = iota // take the fields back at once
	ReportDrift                    // leave the fields until the other manager gives them up, and log the change
	YieldDrift                     // like ReportDrift, without a line in the log
)
