package engine

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// again is what a cycle calls again.
type again struct {
	failures []state.Failure // of the handlers that are called again for the cause
	later    []state.Failure // that are called again after that, for another cause
	byID     bool            // the cause cannot select the handlers: what has changed is not known anymore
}

// has reports whether a handler is called again.
func (a *again) has(id string) bool {
	return slices.ContainsFunc(a.failures, func(f state.Failure) bool { return f.Top() == id })
}

// done reports whether a sub-handler has succeeded before.
func (a *again) done(id string) bool {
	return a != nil && slices.ContainsFunc(a.failures, func(f state.Failure) bool { return slices.Contains(f.Done, id) })
}

// ids returns the ids of the handlers that are called again; nil if none are.
func (a *again) ids() []string {
	if a == nil {
		return nil
	}
	ids := make([]string, len(a.failures))
	for i := range a.failures {
		ids[i] = a.failures[i].Top()
	}
	return ids
}
