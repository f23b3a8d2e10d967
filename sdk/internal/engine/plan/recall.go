package plan

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// After a permanent failure, a handler is not called until the object changes. A retry request calls the handler again
// for the cause for which it failed. The plan rebuilds the cause from the failure on the object: see [state.Failure]. If the
// failure lacks the old state of an update, the handler gets an empty diff. Handlers that succeeded are not called again.

// recall is a cause that repeats an earlier one for its failed handlers.
type recall struct {
	failures []state.Failure // failures to retry in this cause
	later    []state.Failure // failures to retry in the next cause
	byID     bool            // the change is unknown, so that only the ids select the handlers

	marked *handlers.Handler // handler of a mark; nil for failures
	called bool              // the handler of the mark has to be called
}

func (r *recall) has(id string) bool {
	return r.marked != nil && r.marked.ID == id || slices.ContainsFunc(r.failures, func(f state.Failure) bool { return f.Top() == id })
}

// postpones reports whether the failure of a handler is for another cause.
func (r *recall) postpones(id string) bool {
	return r != nil && slices.ContainsFunc(r.later, func(f state.Failure) bool { return f.Handler == id })
}

// Done reports whether a sub-handler succeeded before the failure.
func (r *recall) Done(id string) bool {
	return r != nil && slices.ContainsFunc(r.failures, func(f state.Failure) bool { return slices.Contains(f.Done, id) })
}

// IDs returns the ids of the handlers that are called again; nil if there are none.
func (r *recall) IDs() []string {
	if r == nil {
		return nil
	}
	if r.marked != nil {
		return []string{r.marked.ID}
	}
	ids := make([]string, len(r.failures))
	for i := range r.failures {
		ids[i] = r.failures[i].Top()
	}
	return ids
}
