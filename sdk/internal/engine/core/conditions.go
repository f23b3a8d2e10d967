package core

import (
	"context"
	"errors"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Conditions keeps conditions in the status of objects. It is an interface, so that operators without conditions do not link the
// package that implements it. The methods are safe for concurrent use.
type Conditions interface {
	// Of returns the conditions of an object; [NoConditions] if the resource has no kopf.Conditions.
	Of(key queue.Key, served *ServedResource) ObjectConditions

	// Forget removes an object that was deleted, or that this replica no longer handles.
	Forget(key queue.Key)
}

// ObjectConditions keeps the conditions of one object. Only the object's worker may call its methods, except for Set, which is safe
// for concurrent use.
type ObjectConditions interface {
	// Set stores a condition of a handler, which the object's next Write applies. The generation is the one that the handler has
	// seen.
	Set(c handlers.Condition, generation int64) error

	// Relisted records that the object was listed, for example after a pause. In the meantime, another replica may have written
	// conditions. If outdated, Relisted also drops the verdict about the last pass and the unwritten conditions of handlers,
	// because another replica has handled the object.
	Relisted(outdated bool)

	// Passed records the result of a pass, and the hash of the parent's essence at the pass.
	Passed(essence uint64, out handlers.Outcome, health Health)

	// Write applies the conditions if they differ from the newest version of the object, and if the state of its handlers is
	// decided. It returns the version that its request made; nil without a request. If Write must be called again even without
	// another version of the object, it returns the delay; otherwise 0. Later is true if a later call may write other conditions. Write
	// logs errors, which never fail the cycle.
	Write(ctx context.Context, h *Handling) (made *object.Object, again time.Duration, later bool)
}

// Handling is the result of a cycle for the conditions of an object.
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

// NoConditions keeps no conditions.
var NoConditions noConditions

type noConditions struct{}

// ErrNoConditions is the error of a condition of an object whose conditions the operator does not keep.
var ErrNoConditions = errors.New("set a condition: the operator keeps no conditions of this resource; register kopf.Conditions for it")

func (noConditions) Of(queue.Key, *ServedResource) ObjectConditions { return NoConditions }
func (noConditions) Forget(queue.Key)                               {}
func (noConditions) Set(handlers.Condition, int64) error            { return ErrNoConditions }
func (noConditions) Relisted(bool)                                  {}
func (noConditions) Passed(uint64, handlers.Outcome, Health)        {}
func (noConditions) Write(context.Context, *Handling) (*object.Object, time.Duration, bool) {
	return nil, 0, false
}
