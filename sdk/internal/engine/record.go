package engine

import (
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// record is the result of a cycle, for the object and for the memory.
type record struct {
	progress  state.Progress  // progress of the handlers of the cause
	delays    []time.Duration // times until the delayed handlers are due; none if all handlers are done
	finished  bool            // nothing is left to do for the cause
	behind    bool            // the recorded last-handled state is an earlier one: an update follows
	released  bool            // the finalizer of a deleted object is removed
	failures  []state.Failure // permanent failures on the object
	forgotten []state.Failure // failures of handlers that are not for the object
	keeper    *state.Failure  // the failure for which a deleted object is kept; nil if there is none

	handled         *handledStates // see [memory]
	unfinished      bool           // see [life]
	deletionHandled bool           // see [life]
}

// outcomes are the results of the calls in one cycle.
type outcomes struct {
	byID  map[string]handlers.Outcome // outcomes of the cause's handlers
	subs  map[string]state.Record     // records of sub-handlers whose parents were called
	final []string                    // ids of the handlers and sub-handlers that are done
}

// awaitsRetry reports whether failed handlers are still to be called again, after the finished cause.
func (r *record) awaitsRetry(requested *retryRequest) bool {
	return slices.ContainsFunc(r.failures, func(f state.Failure) bool { return f.Again || requested.means(f.Handler) })
}

// recorder makes one record.
type recorder struct {
	plan      *plan
	situation *situation
	view      *view
	own       *patch.Patch
	record    *record
}

// purge removes the records of a cause that is finished.
func (w *recorder) purge(progress state.Progress) error {
	w.record.unfinished = false
	return w.view.purge(progress, w.situation.served.changing, w.own)
}
