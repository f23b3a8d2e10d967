// Package conditions keeps the conditions Ready, Reconciling and Stalled in the status of objects, together with
// status.observedGeneration and the conditions that handlers set.
package conditions

import (
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// State is the state of an object's handlers and children. Of several states, the greatest one counts.
type State int

// The states.
const (
	Complete         State = iota // all handlers have succeeded, and all children are ready
	ChildrenNotReady              // the handlers have succeeded, but a child is not ready
	Waiting                       // the reconcile handler waits
	Retrying                      // a handler will be called again after an error
	ChildFailed                   // a child does not become ready without a change
	Failed                        // a handler has failed permanently
)

// String returns the state as the reason in conditions.
func (s State) String() string {
	return [...]string{"Complete", "ChildrenNotReady", "Waiting", "Retrying", "ChildFailed", "Failed"}[s]
}

func (s State) reconciling() bool { return s == ChildrenNotReady || s == Waiting || s == Retrying }
func (s State) stalled() bool     { return s == ChildFailed || s == Failed }

// Verdict is the state of an object's handlers and children, which decides about the conditions.
type Verdict struct {
	State   State
	Message string
	Retried bool // a handler will be called again after an error, so observedGeneration stays
}

// and combines the verdicts about change handlers and about the pass. The worse state counts; of equal states, v counts.
func (v Verdict) and(o Verdict) Verdict {
	worse := v
	if o.State > v.State {
		worse = o
	}
	worse.Retried = v.Retried || o.Retried
	return worse
}

// ofPass returns the verdict about a pass of a reconcile handler.
func ofPass(out handlers.Outcome, health core.Health) Verdict {
	text := ""
	if out.Err != nil {
		text = handlers.ErrorText(out.Err)
	}
	retried := !out.Final && !out.Waits
	switch {
	case out.Final && out.Err != nil:
		return Verdict{State: Failed, Message: text}
	case health.Failed:
		return Verdict{ChildFailed, health.Unready, retried}
	case retried:
		return Verdict{Retrying, text, true}
	case out.Waits:
		return Verdict{State: Waiting, Message: text}
	case health.Unready != "":
		return Verdict{State: ChildrenNotReady, Message: health.Unready}
	}
	return Verdict{}
}

// ofChanges returns the verdict about the change handlers of an object, from their records after a cycle. It returns false if the
// next cycle must call handlers without a delay; then that cycle decides.
func ofChanges(progress state.Progress, failures []state.Failure) (v Verdict, decided bool) {
	if !progress.Done() {
		for _, h := range progress.Handlers() {
			if h.Active && !h.Finished() && h.Record.Message != "" {
				return Verdict{Retrying, "handler " + h.ID + ": " + retryText(h.Record), true}, true
			}
		}
		return Verdict{}, false
	}
	for _, f := range failures {
		if !f.Again {
			return Verdict{State: Failed, Message: "handler " + f.Handler + ": " + f.Message}, true
		}
	}
	return Verdict{}, len(failures) == 0 // otherwise, the next cycle calls the failed handlers again
}

// retryText returns the error in a record. If only sub-handlers are retried, the record has no error, because each sub-handler
// has its own record.
func retryText(r state.Record) string {
	if r.Message == state.UnfinishedSubs {
		return new(handlers.ChildrenRetry).Error()
	}
	return r.Message
}
