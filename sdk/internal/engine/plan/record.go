package plan

import (
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Record is the result of a cycle, for the object and for the memory.
type Record struct {
	Progress  state.Progress  // progress of the handlers of the cause
	Delays    []time.Duration // times until the delayed handlers are due; none if all handlers are done
	Finished  bool            // nothing is left to do for the cause
	Behind    bool            // the recorded last-handled state is an earlier one: an update follows
	Released  bool            // the finalizer of a deleted object is removed
	Failures  []state.Failure // permanent failures on the object
	Forgotten []state.Failure // failures of handlers that are not for the object
	Keeper    *state.Failure  // the failure for which a deleted object is kept; nil if there is none

	Handled         *memory.HandledStates // see [memory.Memory]
	Unfinished      bool                  // see [memory.Life]
	DeletionHandled bool                  // see [memory.Life]
}

// Outcomes are the results of the calls in one cycle.
type Outcomes struct {
	ByID  map[string]handlers.Outcome // outcomes of the cause's handlers
	Subs  map[string]state.Record     // records of sub-handlers whose parents were called
	Final []string                    // ids of the handlers and sub-handlers that are done
}

// AwaitsRetry reports whether failed handlers are still to be called again, after the finished cause.
func (r *Record) AwaitsRetry(requested *memory.RetryRequest) bool {
	return slices.ContainsFunc(r.Failures, func(f state.Failure) bool { return f.Again || requested.Means(f.Handler) })
}

// recorder makes one record.
type recorder struct {
	plan      *Plan
	situation *Situation
	view      *View
	own       *patch.Patch
	record    *Record
}

// purge removes the records of a cause that is finished.
func (w *recorder) purge(progress state.Progress) error {
	w.record.Unfinished = false
	return w.view.purge(progress, w.situation.Served.Changing, w.own)
}
