package core

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Conditions keep conditions in the status of objects. It is an interface, so that operators without conditions do not link the
// package that implements it. The methods are safe for concurrent use.
type Conditions interface {
	// Of returns the conditions of an object. They are only kept if the resource asks for it.
	Of(key queue.Key, served *ServedResource) ObjectConditions

	// Forget drops an object that was deleted, or that this replica does not handle.
	Forget(key queue.Key)
}

// ObjectConditions are the conditions of one object. Only the object's worker uses them, except for Set, which any goroutine may use.
type ObjectConditions interface {
	// Set notes a condition of a handler, which the next cycle writes. The generation belongs to the version that the handler has seen.
	Set(c metav1.Condition, generation int64) error

	// Passed notes the end of a pass, for the essence with the hash.
	Passed(essence uint64, out handlers.Outcome, health Health)

	// Write applies the conditions if they differ from the conditions of the newest version, and if the handling says how far it is. It
	// returns the version that the request has made; nil if it has made none. If Write has to be called again without another version
	// of the object, it returns the delay; otherwise 0. It logs errors, which never fail the handling of the object.
	Write(ctx context.Context, h *Handling) (made *object.Object, again time.Duration)
}

// Handling is the handling of an object by a cycle.
type Handling struct {
	Changing   bool            // a change handler matches the object
	Progress   state.Progress  // progress of the handlers of the cause
	Failures   []state.Failure // permanent failures on the object
	Reconciles bool            // the reconcile handler matches the object
	Essence    uint64          // hash of the essence
	Generation int64
	Newest     *object.Object // newest known version of the object
	Subject    *observe.Subject
}

// NoConditions are the conditions of an operator, or of an object, that keeps none.
type NoConditions struct{}

// Of implements [Conditions].
func (NoConditions) Of(queue.Key, *ServedResource) ObjectConditions { return NoConditions{} }

// Forget implements [Conditions].
func (NoConditions) Forget(queue.Key) {}

// ErrNoConditions is the error of a condition of an object whose conditions the operator does not keep.
var ErrNoConditions = errors.New("set a condition: the operator keeps no conditions of this resource; register kopf.Conditions for it")

// Set implements [ObjectConditions].
func (NoConditions) Set(metav1.Condition, int64) error { return ErrNoConditions }

// Passed implements [ObjectConditions].
func (NoConditions) Passed(uint64, handlers.Outcome, Health) {}

// Write implements [ObjectConditions].
func (NoConditions) Write(context.Context, *Handling) (*object.Object, time.Duration) { return nil, 0 }
