package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
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
	if store := stepsInUse.Load(); store != nil {
		if err := (*store)(w, true); err != nil {
			return err
		}
	}
	return w.view.Purge(progress, w.situation.Served.Changing, w.own)
}

// Record adds the operator's records after the calls of handlers to a patch: the progress, the failures, the last-handled state and the finalizer.
func (p *Plan) Record(s *Situation, v *View, out *Outcomes, handled *memory.HandledStates, own *patch.Patch) (Record, error) {
	r := Record{Failures: p.Failures, Handled: handled, Unfinished: s.Life.Unfinished, DeletionHandled: s.Life.DeletionHandled}
	w := recorder{plan: p, situation: s, view: v, own: own, record: &r}
	var err error
	switch {
	case p.Hold.ForVersion():
		return r, nil
	case p.Hold != HoldNothing:
	case !p.Cause.Reason.Handled():
		err = w.endReverted()
	case len(p.Selected) == 0 && (p.Recall == nil || p.Recall.isMarked()): // the handler of a mark has not to be called
		err = w.endUnhandled()
	case len(p.Selected) == 0:
		r.Forgotten, r.Finished = p.Recall.failures, true
		err = w.storeFailures(state.Progress{}.WithPurpose(string(p.Cause.Reason)), out)
	default:
		err = w.storeOutcomes(out)
	}
	if versions := versionsInUse.Load(); versions != nil && err == nil && r.Finished {
		err = versions.end(&w)
	}
	if err == nil && len(r.Delays) == 0 && len(out.Parked) == 0 {
		w.release()
	}
	return r, err
}

// storeOutcomes stores the outcomes of the called handlers. If all are done, it ends the cause.
func (w *recorder) storeOutcomes(out *Outcomes) (err error) {
	p, r, now := w.plan, w.record, w.situation.Now
	if len(out.ByID)+len(out.Subs) == 0 && len(out.Parked) > 0 { // waiting is not recorded on the object
		r.Progress, r.Delays = p.Progress, p.Progress.Delays(now, out.Parked...)
		r.Unfinished = r.Unfinished || p.recorded
		return nil
	}
	if r.Progress, err = p.Progress.WithOutcomes(out.ByID, now); err != nil {
		return err
	}
	for id := range out.Subs { // also of handlers whose attempts do not count, because the operator is stopping
		r.Progress = p.withSub(r.Progress, id)
	}
	if err := w.view.StoreProgress(r.Progress, w.own); err != nil {
		return err
	}
	done := r.Progress.Done()
	w.rememberHandled(out.Final, done)
	if !done {
		r.Unfinished, r.Delays = true, r.Progress.Delays(now, out.Parked...)
		if store := stepsInUse.Load(); store != nil {
			if err := (*store)(w, false); err != nil {
				return err
			}
		}
		return p.markRecalled(w.view, w.own)
	}
	if err := w.storeFailures(r.Progress, out); err != nil {
		return err
	}
	if p.Cause.Deleted && w.situation.Served.Handlers.DeletesChildren() {
		r.Unfinished = false // the records stay until the children are deleted: a restart must not call the handlers again
	} else if err := w.purge(r.Progress); err != nil {
		return err
	}
	return w.storeLastHandled()
}

// withSub adds a sub-handler to the record of its top-level handler, so that both records are removed together.
func (p *Plan) withSub(progress state.Progress, sub string) state.Progress {
	for _, h := range p.Selected {
		if strings.HasPrefix(sub, h.ID+"/") {
			progress = progress.WithSubref(h.ID, sub)
		}
	}
	return progress
}

// endUnhandled ends a cause without handlers. Records of removed handlers must not count for the next cause.
func (w *recorder) endUnhandled() error {
	if len(w.plan.Progress.Handlers()) > 0 {
		if err := w.purge(w.plan.Progress); err != nil {
			return err
		}
	}
	return w.storeLastHandled()
}

// storeLastHandled ends the cause: it stores the essence that the handlers have seen as the last-handled state, unless it was stored when
// the cause ended first.
func (w *recorder) storeLastHandled() error {
	w.record.Finished = true
	if r := w.plan.Recall; r != nil && (!r.isMarked() || w.record.Handled == nil) {
		w.record.Handled = nil
		return nil
	}
	raw, essence, err := w.lastHandledState()
	if err != nil {
		return err
	}
	w.record.Handled = nil
	cause, v := w.plan.Cause, w.view
	// A reverted change, whose reason is not handled, and a repeated cause keep the stored state, unless an update must follow.
	renews := cause.Reason.Handled() && w.plan.Recall == nil && (essence != nil && len(cause.Diff) > 0 || cause.Old == nil)
	if !renews && !w.record.Behind {
		return nil
	}
	if err := v.diffbase.Store(v.Stored, raw, essence, v.extra, w.own); err != nil {
		return fmt.Errorf("record the last-handled state: %w", err)
	}
	v.Renewed = true
	return nil
}

// release removes the finalizer of a deleted object, whose handlers are all done, when no daemon is running, unless the operator must delete children before.
func (w *recorder) release() {
	p, r := w.plan, w.record
	if w.situation.Event == watch.Deleted || !p.Cause.Deleted || !p.Blocked || p.keeper(w.situation, r.Failures) != nil {
		return
	}
	r.DeletionHandled = true
	switch {
	case len(w.situation.Stopping) > 0:
	case w.situation.Served.Handlers.DeletesChildren():
		r.AwaitsChildren = true
	default:
		r.Release(w.situation, w.own)
	}
}

// Release removes the finalizer.
func (r *Record) Release(s *Situation, own *patch.Patch) {
	r.Released, r.AwaitsChildren = true, false
	state.RemoveFinalizer(own, s.Finalizer)
}

// markRecalled records that failed handlers are being called again, so that the next operator continues.
func (p *Plan) markRecalled(v *View, own *patch.Patch) error {
	if p.Recall == nil {
		return nil
	}
	for _, f := range slices.Concat(p.Recall.failures, p.Recall.later) {
		if f.Again {
			continue
		}
		f.Again = true
		if err := v.failures.Store(v.Stored, f, own); err != nil {
			return err
		}
	}
	return nil
}

// storeFailures records the failed handlers on the object when all handlers are done, and removes obsolete failures. A deleted object has
// failures only if a handler keeps the object for them.
func (w *recorder) storeFailures(progress state.Progress, out *Outcomes) error {
	p, r, v := w.plan, w.record, w.view
	failed, err := readRecords(v, "progress of sub-handlers", func() ([]state.Failure, error) {
		return progress.Failures(v.Stored, v.Progress, out.Subs, p.unstoredOld())
	})
	if err != nil {
		return err
	}
	for i := range failed {
		f := &failed[i]
		f.Rehandled = p.Cause.Again
		for _, h := range p.Selected {
			if h.ID == f.Top() {
				f.Version = h.Version
			}
		}
		if p.Cause.Reason == handlers.ReasonDelete {
			f.UID = w.situation.Object.UID
		}
	}
	current := slices.Clone(failed)
	for _, f := range p.Failures {
		switch {
		case slices.ContainsFunc(failed, func(newer state.Failure) bool { return newer.Handler == f.Handler }):
		case p.makesObsolete(&f, progress):
			v.failures.Remove(v.Stored, f.Handler, w.own)
		case p.Recall.postpones(f.Handler):
			f.Again = true
			failed, current = append(failed, f), append(current, f)
		default:
			current = append(current, f)
		}
	}
	if p.Cause.Reason == handlers.ReasonDelete {
		if r.Keeper = p.keeper(w.situation, current); r.Keeper == nil {
			for _, f := range p.Failures {
				v.failures.Remove(v.Stored, f.Handler, w.own)
			}
			r.Failures = nil
			return nil
		}
	}
	for _, f := range failed {
		if err := v.failures.Store(v.Stored, f, w.own); err != nil {
			return err
		}
	}
	r.Failures = current
	return nil
}

// makesObsolete reports whether an earlier failure is obsolete when the handlers of the cause are done: after a retry or resuming, only a
// failure of a called handler.
func (p *Plan) makesObsolete(f *state.Failure, progress state.Progress) bool {
	switch {
	case p.Recall != nil:
		return p.Recall.has(f.Top()) && !p.Recall.postpones(f.Handler)
	case p.Cause.Reason == handlers.ReasonResume:
		h, known := progress.Handler(f.Top())
		return known && h.Active
	default:
		return true
	}
}

// keeper returns the first failure that keeps a deleted object, of a deletion handler with KeepOnFailure; nil if there is none.
func (p *Plan) keeper(s *Situation, failures []state.Failure) *state.Failure {
	for i := range failures {
		f := &failures[i]
		keeps := func(h *handlers.Handler) bool { return h.ID == f.Top() && h.KeepOnFailure }
		if f.IsDeletionOf(s.Object.UID) && s.Served.Handlers.Any(handlers.Changing, keeps) {
			return f
		}
	}
	return nil
}

// unstoredOld returns the essence before the change, unless the diff base has it.
func (p *Plan) unstoredOld() map[string]any {
	if p.Cause.Reason != handlers.ReasonUpdate || p.Recall != nil && (p.Recall.byID || p.Recall.isMarked()) {
		return nil
	}
	return p.Cause.Old
}
