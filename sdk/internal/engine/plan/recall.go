package plan

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// After a permanent failure, the handler is not called until the object changes. A request to retry calls the handler again, for
// the cause that it failed for, as far as the failure on the object describes it: [state.Failure]. Handlers that have succeeded
// are not called again.

// recall is a cause that repeats an earlier one, for the handlers that failed.
type recall struct {
	failures []state.Failure // failures of the handlers that are called again for the cause
	later    []state.Failure // failures of handlers that are called again after that, for another cause
	byID     bool            // the change is not known, so that the cause cannot select the handlers
}

// has reports whether a handler is called again.
func (r *recall) has(id string) bool {
	return slices.ContainsFunc(r.failures, func(f state.Failure) bool { return f.Top() == id })
}

// postpones reports whether the failure of a handler is for another cause.
func (r *recall) postpones(id string) bool {
	return r != nil && slices.ContainsFunc(r.later, func(f state.Failure) bool { return f.Handler == id })
}

// Done reports whether a sub-handler has succeeded before.
func (r *recall) Done(id string) bool {
	return r != nil && slices.ContainsFunc(r.failures, func(f state.Failure) bool { return slices.Contains(f.Done, id) })
}

// IDs returns the ids of the handlers that are called again; nil if none are.
func (r *recall) IDs() []string {
	if r == nil {
		return nil
	}
	ids := make([]string, len(r.failures))
	for i := range r.failures {
		ids[i] = r.failures[i].Top()
	}
	return ids
}
