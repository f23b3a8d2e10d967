package core

import (
	"context"
	"errors"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Passes, Conditions and CallLimits are interfaces, so that operators without the feature do not link the package that implements it. Their
// methods are safe for concurrent use. Forget removes an object that was deleted, or that this replica no longer handles.

// Passes begins the passes of reconcile handlers, and keeps the children of objects.
type Passes interface {
	// Adjust watches the children of the objects of the served resources, and stops all other watches. Known has all resources of
	// the cluster; the namespace "" is the whole cluster.
	Adjust(ctx context.Context, served, known []resources.Resource, namespaces []string)

	// Stop stops all watches, but keeps the known children.
	Stop()

	// Due stores the newest version of an object, and reports whether a pass is due for it.
	Due(ctx context.Context, b *Beginning) bool

	// Begin returns the pass that is due for an object; nil if there is none. The object was given to Due before.
	Begin(ctx context.Context, b *Beginning) Pass

	// Delete deletes the children of a deleted object that the operator must delete before the object. It returns names of the
	// children that still exist, or none if the operator may remove its finalizer. If it returns names, the object has another
	// cycle after the deletion of these children, or after a delay.
	Delete(ctx context.Context, b *Beginning) (left []string, err error)

	// Update sets the newest version of an object, from the answer to the operator's own write.
	Update(key queue.Key, newest *object.Object)

	// Outdate adds a reason for a pass, because another replica has handled the object since its last pass.
	Outdate(key queue.Key)

	Forget(key queue.Key)

	// Failed returns the objects whose last pass has failed permanently.
	Failed() []queue.Key

	// FailedObject returns the newest version of an object in Failed. It returns nil for other objects, and if the version may be outdated.
	FailedObject(key queue.Key) *object.Object

	// ReleaseBrake permits deletions that the brake has stopped, until the next start of the operator. It releases the brake for
	// the children of a resource's objects, or of all objects if the key is empty.
	ReleaseBrake(resource string)

	// Children returns the children of an object with the results of its last pass; of all objects for the zero Ref.
	Children(parent inspect.Ref, inspector *observe.Inspector) inspect.ChildList

	// ChildStates returns the numbers of existing children by resource and state, with all states for each served resource.
	ChildStates() map[string]map[string]int
}

// Pass is one call of a reconcile handler. It is the value of [handlers.Call.Extra].
type Pass interface {
	Fresh() bool                        // reports whether the object has changed since the last pass
	Complete(ctx context.Context) error // prunes children after the handler has succeeded
	End(out handlers.Outcome)           // ends the pass with an outcome
	Abort()                             // ends the pass without an outcome; the next pass has the same reasons again
	Kinds(recorded []string) []string   // returns the kinds to record on the object; must be called before End

	// Health returns the health of the children after the pass. It returns false if err only delays the writes of the pass, because
	// the pass then has no result.
	Health(err error) (Health, bool)
}

// Health is the health of the children of an object.
type Health struct {
	Unready string // name and message of the first unready child, with failed children first; empty if all children are ready
	Failed  bool   // the child in Unready does not become ready without a change
}

// Beginning is the state of an object in a cycle that may begin a pass.
type Beginning struct {
	Key       queue.Key
	Object    *object.Object
	Subject   *observe.Subject
	Essence   uint64    // hash of the essence
	Listed    bool      // the object existed before the operator
	RetryAt   time.Time // time of the next attempt in the record on the object; zero without a failed pass
	Requested bool      // a person has requested a pass
}

// Conditions keeps conditions in the status of objects.
type Conditions interface {
	// Of returns the conditions of an object; [NoConditions] if the resource has no kopf.Conditions.
	Of(key queue.Key, served *ServedResource) ObjectConditions

	Forget(key queue.Key)
}

// ObjectConditions keeps the conditions of one object. Only the object's worker may call its methods, except for Set.
type ObjectConditions interface {
	// Set stores a condition of a handler, which has seen the generation. The object's next Write applies the condition.
	Set(c handlers.Condition, generation int64) error

	// Relisted records that the object was listed, so that another replica may have written conditions. If outdated, another replica has
	// handled the object: Relisted also drops the verdict about the last pass and the unwritten conditions of handlers.
	Relisted(outdated bool)

	// Passed records the result of a pass, and the hash of the parent's essence at the pass.
	Passed(essence uint64, out handlers.Outcome, health Health)

	// Write applies the conditions if they differ from the newest version of the object, and if the state of its handlers is decided. It
	// returns the version that its request made; nil without a request. If Write must be called again even without another version of the
	// object, it returns the delay; otherwise 0. Later is true if a later call may write other conditions. Errors never fail the cycle.
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

// CallLimits make handlers whose calls are limited wait for slots.
type CallLimits interface {
	// BeginCycle begins a cycle of an object, and EndCycle ends it: the cycle gives up the slots that it did not use.
	BeginCycle(key queue.Key)
	EndCycle(key queue.Key)

	// Reserve reserves a slot for a call. If none is free, it returns false, and the object has a cycle when it gets the slot.
	Reserve(key queue.Key, h *handlers.Handler, s *observe.Subject) bool

	// Begin begins the call that the slot is reserved for, and returns the function that hands on the slot. It returns false if
	// the object was forgotten since.
	Begin(key queue.Key, h *handlers.Handler) (end func(), ok bool)

	Forget(key queue.Key)

	// LeaveAll makes all objects give up their places in line, and the slots that no call uses. Afterwards, they must be listed again.
	LeaveAll()

	// NewTurn returns the turn of a timer: see [daemons.Host]. Await reports that the timer waits.
	NewTurn(h *handlers.Handler, wake func()) daemons.Turn
	Await(h *handlers.Handler, s *observe.Subject)
}

// NoPasses are the passes of operators without reconcile handlers.
var NoPasses Passes = noPasses{}

type noPasses struct{}

func (noPasses) Adjust(context.Context, []resources.Resource, []resources.Resource, []string) {}
func (noPasses) Stop()                                                                        {}
func (noPasses) Due(context.Context, *Beginning) bool                                         { return false }
func (noPasses) Begin(context.Context, *Beginning) Pass                                       { return nil }
func (noPasses) Delete(context.Context, *Beginning) ([]string, error)                         { return nil, nil }
func (noPasses) Update(queue.Key, *object.Object)                                             {}
func (noPasses) Outdate(queue.Key)                                                            {}
func (noPasses) Forget(queue.Key)                                                             {}
func (noPasses) Failed() []queue.Key                                                          { return nil }
func (noPasses) FailedObject(queue.Key) *object.Object                                        { return nil }
func (noPasses) ReleaseBrake(string)                                                          {}
func (noPasses) ChildStates() map[string]map[string]int                                       { return nil }
func (noPasses) Children(inspect.Ref, *observe.Inspector) inspect.ChildList {
	return inspect.ChildList{Children: []inspect.Child{}}
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
