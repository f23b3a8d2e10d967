package handlers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Owned is a kind of children of a [Reconcile] handler.
type Owned struct {
	Selector resources.Selector
	Drift    DriftPolicy
	Observe  []object.Path // further fields to keep of each child
	Once     []object.Path // fields that are applied at the creation only

	ReadyIf     func(*object.Object) error // nil for the rules of kstatus; a permanent error means that the child has failed
	ReadyWithin time.Duration              // a child that is not ready for longer has failed; 0 for no limit

	Adopt       bool   // take over existing objects that have no controller
	Keep        bool   // children are never deleted, and have no owner reference
	Prune       bool   // delete children of protected kinds too
	Recreate    string // propagation of the deletion before a child is created anew; empty if children are never created anew
	DeleteFirst bool   // the operator deletes the children before their parent
	Optional    bool   // passes leave the children out while the cluster does not serve the kind
	Elsewhere   bool   // children can be where the garbage collection of the cluster does not delete them with their parent
}

// Watched is a resource whose objects are no children, and wake the objects of a [Reconcile] handler.
type Watched struct {
	Selector     resources.Selector
	MetadataOnly bool
	Names        []object.Path // fields with the names of the objects; none with Map

	// Map returns the parents that an object concerns; nil with Names.
	Map func(ctx context.Context, call *Call) ([]types.NamespacedName, error)
}

// DriftPolicy decides about applied fields that others have changed.
type DriftPolicy int

// The policies.
const (
	DriftRevert DriftPolicy = iota // take the fields back
	DriftReport                    // leave the fields, and report them
	DriftYield                     // leave the fields
)

// DeletesChildren reports whether the operator must delete children before their parent goes.
func (s *Set) DeletesChildren() bool {
	h := s.Reconciler()
	return h != nil && h.requiresFinalizer()
}

// Reconciler returns the reconcile handler of a resource; nil if there is none.
func (s *Set) Reconciler() *Handler {
	if hs := s.members[Reconciling].handlers; len(hs) > 0 {
		return hs[0]
	}
	return nil
}
