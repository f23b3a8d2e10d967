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
// object; one call can have several reasons. It does not call the handler for an object that is being deleted. Then the cluster's
// garbage collection deletes the children, except for children with [Own].Keep. The operator itself deletes children with
// [Own].DeleteFirst, and children outside of the object's namespace (see [Own].Elsewhere).
//
// Retries and waits of an OnReconcile handler do not delay the other handlers of the object. A resource has at most one
// OnReconcile handler. Its id is "reconcile", unless [ID] sets another. See [Children].
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

// Own is an option of [OnReconcile] that declares a kind of children. The operator watches only the children of this kind, by
// their label. By default, it takes back applied fields that other clients change, and deletes the children that a complete
// pass has not applied.
type Own struct {
	// Resource is the resource of the children, such as Resource("apps/v1", "deployments"). It must select a single resource, and
	// each resource can be declared once. Children are pruned in the reverse order of the declarations.
	Resource Selector

	// Drift is the policy for applied fields that other clients have changed. Defaults to [RevertDrift]. A field that was
	// changed through the scale subresource always stays with its new owner, so that autoscalers work.
	Drift DriftPolicy

	// Observe lists fields of the children, such as "status.readyReplicas". The operator keeps their values in
	// [Child].Observed, and calls the handler when a value changes.
	Observe []Path

	// ReadyIf decides whether a child is ready, in place of the rules of kstatus. Nil means ready. An error of [Permanentf] makes
	// the state [ChildFailed], and any other error makes it [ChildProgressing]; the error's text becomes [Child].Message. A child
	// that is being deleted, or whose status.observedGeneration is old, is never ready. The operator calls the function for each
	// version of a child, perhaps concurrently. The function must be fast, and must not call methods of a [Pass]. With ReadyIf,
	// the operator receives whole children, including the data of Secrets.
	ReadyIf func(child *Object) error

	// ReadyWithin is how long a child may stay unready before its state becomes [ChildFailed] and the handler is called. The time
	// starts with the child's creation, with its last change by the operator, or with the loss of its readiness. After a restart
	// of the operator, it starts with the last change of a condition or the last apply, whichever is later. For a child without
	// conditions, it then starts with the restart. Zero means no limit.
	ReadyWithin time.Duration

	// Once lists fields that the operator applies only when it creates a child, such as "data" of a Secret with a random
	// password. Later, the operator neither changes nor restores these fields. An adopted object keeps its own values.
	// A path must not begin with apiVersion, kind, metadata, status or stringData.
	Once []Path

	// Adopt makes [Pass.Apply] take over an existing object with the name of a child if the object has no controller. By default,
	// Apply returns a permanent error for such an object.
	Adopt bool

	// Keep makes the children outlive their parent: they have no owner reference, and are never pruned.
	Keep bool

	// Recreate makes the operator delete a child and create it anew if the API server refuses a change of the child, and would
	// accept the same child as a new object. The value decides about the dependents of the deleted child, such as the pods of a
	// StatefulSet. [metav1.DeletePropagationBackground] and [metav1.DeletePropagationForeground] delete them.
	// [metav1.DeletePropagationOrphan] leaves them to the new child. By default, Recreate is empty, and [Pass.Apply] returns a
	// permanent error for the refused change.
	Recreate metav1.DeletionPropagation

	// DeleteFirst makes the operator delete the children of this kind before their parent, after all OnDelete handlers, and in the
	// reverse order of the declarations. The operator's finalizer keeps the parent until the last child is deleted. By default,
	// Kubernetes deletes the children after the parent, in any order.
	DeleteFirst bool

	// Elsewhere permits children outside of the parent's namespace, including cluster-scoped children. Kubernetes does not delete
	// such children with their parent, so the operator does, as with DeleteFirst. The operator watches this kind in all namespaces.
	Elsewhere bool

	// Optional is for kinds that a cluster may lack, such as ServiceMonitors. While the cluster does not serve the kind,
	// [Pass.Apply] leaves out the children of this kind, and [Pass.WaitReady] does not wait for them. The operator calls the
	// handler for all parents when the cluster begins or ceases to serve the kind. By default, the pass waits for the kind, and
	// Apply sends none of its objects.
	Optional bool

	// Prune permits the operator to prune namespaces, persistent volume claims and custom resource definitions. By default, the
	// operator keeps objects of these kinds, because their deletion also deletes data or other objects.
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
	owned := handlers.Owned{Selector: selector, Drift: handlers.DriftPolicy(o.Drift), Adopt: o.Adopt, Keep: o.Keep, Prune: o.Prune, Elsewhere: o.Elsewhere, DeleteFirst: o.DeleteFirst, Optional: o.Optional, Recreate: string(o.Recreate), ReadyWithin: o.ReadyWithin}
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
			err = checkOnce(fixed)
		}
		if err != nil {
			c.fail("Own: Once of %s: %v", selector, err)
			continue
		}
		owned.Once = append(owned.Once, fixed)
	}
	c.Owns = append(c.Owns, owned)
}

// checkOnce returns an error for a field that cannot be in [Own].Once.
func checkOnce(field object.Path) error {
	if len(field) == 0 {
		return errors.New("the path is empty")
	}
	switch field[0] {
	case "apiVersion", "kind", "metadata", "status":
		return fmt.Errorf("%s cannot be applied once; name fields such as data or spec.size", field)
	case "stringData":
		return fmt.Errorf("%s is applied as data; name data instead", field)
	}
	return nil
}

// DriftPolicy decides about applied fields of a child that other clients have changed.
type DriftPolicy int

// The values of [Own].Drift.
const (
	RevertDrift DriftPolicy = iota // take the fields back at once
	ReportDrift                    // leave the fields to their new manager until it gives them up, and log the change
	YieldDrift                     // like ReportDrift, but log nothing
)
