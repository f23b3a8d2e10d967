package observe

import (
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// ChildrenChanged reports that a child of an object has changed, or that a pass has ended.
type ChildrenChanged struct {
	Resource string         // key of the parent's resource
	Parent   *object.Object // newest known version

	Existing inspect.ChildCounts // numbers of existing children, without pruned ones
	Pass     *EndedPass          // nil if only a child has changed
}

// PassEnded reports a pass that has ended, too, for subscribers without an interest in other changes of children. It is emitted
// without a lock.
type PassEnded struct {
	Resource string // key of the parent's resource
	Pass     *EndedPass
}

// EndedPass is a pass that has ended, with its results. The values of Secrets, and of other fields to hide, are replaced.
type EndedPass struct {
	inspect.Pass // its numbers are zero

	// Children are the results for the children that the pass has applied or pruned. An existing child that the pass has neither
	// applied nor pruned has an empty result.
	Children []PassedChild
}

// PassedChild is the result of a pass for a child.
type PassedChild struct {
	inspect.KindRef
	Result inspect.ChildResult
	Error  string // error of a refused or awaited child
	Exists bool

	// Drift has the fields that the pass has taken back or left to others. Judged means that it has all fields that are left to
	// others now.
	Drift  []inspect.FieldDrift
	Judged bool
}

// Kind implements [Event].
func (ChildrenChanged) Kind() Kind { return KindChildrenChanged }

// Kind implements [Event].
func (PassEnded) Kind() Kind { return KindPassEnded }
