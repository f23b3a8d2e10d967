package core

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Passes keep the children of objects. It is an interface, so that operators without reconcile handlers do not link the package
// that implements it. The methods are safe for concurrent use.
type Passes interface {
	// Adjust watches the children of the served objects in the namespaces. Known are all resources of the cluster.
	Adjust(ctx context.Context, served, known []resources.Resource, namespaces []string)

	// Stop ends all watches of children, and keeps the known children.
	Stop()

	// Begin returns the pass that is due for an object; nil if none is.
	Begin(ctx context.Context, b *Beginning) Pass

	// Delete deletes the children of an object that is being deleted, as far as the garbage collection of the cluster cannot. It
	// returns names for the children that are left; none if the object can go. Otherwise, the object has another cycle after
	// their deletion, or when it is time to try again.
	Delete(ctx context.Context, b *Beginning) (left []string, err error)

	// Update sets the newest version of an object, which the operator has made.
	Update(key queue.Key, newest *object.Object)

	// Forget drops an object that was deleted, or that this replica does not handle.
	Forget(key queue.Key)

	// Failed returns the objects whose last pass has failed permanently.
	Failed() []queue.Key

	// FailedObject returns the newest version of such an object; nil for another object, and if the version may be outdated.
	FailedObject(key queue.Key) *object.Object

	// ReleaseBrake continues to delete children that the brake keeps, until the next start: of the objects of a resource, or of all
	// if its key is empty.
	ReleaseBrake(resource string)

	// Children returns the children of an object, with the results of its last pass; for the zero Ref, the children of all objects.
	Children(parent inspect.Ref, inspector *observe.Inspector) inspect.ChildList

	// ChildStates returns the numbers of existing children by their resource and state, with all states of each served resource.
	ChildStates() map[string]map[string]int
}

// Pass is one call of a reconcile handler. It is the value of [handlers.Call.Extra].
type Pass interface {
	Fresh() bool                        // the object has changed since the last pass
	Complete(ctx context.Context) error // prunes, after the handler has succeeded
	End(out handlers.Outcome)
	Abort()                           // the pass does not count
	Kinds(recorded []string) []string // kinds to record on the object, in place of the recorded ones; called before End

	// Health returns the health of the children after the pass. It returns false if the pass says nothing about the object, because
	// it ended with an error that only delays its writes.
	Health(err error) (Health, bool)
}

// Health is the health of the children of an object.
type Health struct {
	Unready string // name and message of the first child that is not ready, failed ones first; empty if all are ready
	Failed  bool   // this child does not become ready without a change
}

// Beginning is the state of an object in a cycle that may begin a pass.
type Beginning struct {
	Key       queue.Key
	Object    *object.Object
	Subject   *observe.Subject
	Essence   uint64    // hash of the essence
	Listed    bool      // the object existed before the operator
	RetryAt   time.Time // time of the next attempt by the record on the object; zero if the last pass has not failed
	Requested bool      // a person has asked for a pass
}

// NoPasses are the passes of an operator without reconcile handlers.
type NoPasses struct{}

// Adjust implements [Passes].
func (NoPasses) Adjust(context.Context, []resources.Resource, []resources.Resource, []string) {}

// Stop implements [Passes].
func (NoPasses) Stop() {}

// Begin implements [Passes].
func (NoPasses) Begin(context.Context, *Beginning) Pass { return nil }

// Delete implements [Passes].
func (NoPasses) Delete(context.Context, *Beginning) ([]string, error) { return nil, nil }

// Update implements [Passes].
func (NoPasses) Update(queue.Key, *object.Object) {}

// Forget implements [Passes].
func (NoPasses) Forget(queue.Key) {}

// Failed implements [Passes].
func (NoPasses) Failed() []queue.Key { return nil }

// FailedObject implements [Passes].
func (NoPasses) FailedObject(queue.Key) *object.Object { return nil }

// ReleaseBrake implements [Passes].
func (NoPasses) ReleaseBrake(string) {}

// Children implements [Passes].
func (NoPasses) Children(inspect.Ref, *observe.Inspector) inspect.ChildList {
	return inspect.ChildList{Children: []inspect.Child{}}
}

// ChildStates implements [Passes].
func (NoPasses) ChildStates() map[string]map[string]int { return nil }
