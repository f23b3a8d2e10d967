package plan

import (
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Record is the result of a cycle, for the object and for its memory.
type Record struct {
	Progress       state.Progress  // progress of the handlers of the cause
	Delays         []time.Duration // times until the delayed handlers are due; empty if all handlers are done
	Finished       bool            // the cause has nothing left to do
	Behind         bool            // the recorded last-handled state is older than the object, so an update follows
	Released       bool            // the finalizer of a deleted object is removed
	AwaitsChildren bool            // the finalizer of a deleted object stays only until the operator has deleted its children
	Marked         bool            // a mark of "kopf rehandle" follows the finished cause
	Failures       []state.Failure // permanent failures on the object
	Forgotten      []state.Failure // failures whose handlers do not match the object
	Keeper         *state.Failure  // failure that keeps a deleted object; nil if there is none

	Handled         *memory.HandledStates // states that the finished handlers of an unfinished cause have seen; nil without such handlers
	Unfinished      bool                  // see [memory.Life]
	DeletionHandled bool                  // see [memory.Life]
}

// Outcomes are the results of the calls in one cycle.
type Outcomes struct {
	ByID  map[string]handlers.Outcome // outcomes of the cause's handlers
	Subs  map[string]state.Record     // records of sub-handlers whose parents were called
	Final []string                    // ids of the handlers and sub-handlers that are done

	Parked []string // ids of the handlers that are due, and wait for a slot
}

// AwaitsRetry reports whether failed handlers must be called again after the finished cause.
func (r *Record) AwaitsRetry(requested *memory.RetryRequest) bool {
	return slices.ContainsFunc(r.Failures, func(f state.Failure) bool { return f.Again || requested.Means(f.Handler) })
}

type recorder struct {
	plan      *Plan
	situation *Situation
	view      *View
	own       *patch.Patch
	record    *Record
}

// purge removes the records of a finished cause, and records the ends of its steps.
func (w *recorder) purge(progress state.Progress) error {
	w.record.Unfinished = false
	if steps := stepsInUse.Load(); steps != nil {
		if err := steps.end(w); err != nil {
			return err
		}
	}
	return w.view.Purge(progress, w.situation.Served.Changing, w.own)
}
