package plan

import (
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Record adds the operator's records to a patch after the calls of handlers: the progress, the failures, the
// last-handled state and the finalizer.
func (p *Plan) Record(s *Situation, v *View, out *Outcomes, handled *memory.HandledStates, own *patch.Patch) (Record, error) {
	r := Record{Failures: p.Failures, Handled: handled, Unfinished: s.Life.Unfinished, DeletionHandled: s.Life.DeletionHandled}
	w := recorder{plan: p, situation: s, view: v, own: own, record: &r}
	var err error
	switch {
	case p.Hold.ForWrite():
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

// storeOutcomes stores the outcomes of the called handlers. If all handlers are done, it stores the failures and the
// last-handled state, and purges the progress.
func (w *recorder) storeOutcomes(out *Outcomes) (err error) {
	p, r, now := w.plan, w.record, w.situation.Now
	if len(out.ByID)+len(out.Subs) == 0 && len(out.Parked) > 0 { // waiting is not recorded on the object
		r.Progress, r.Delays = p.Progress, p.Progress.Delays(now, out.Parked...)
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
		if steps := stepsInUse.Load(); steps != nil {
			if err := steps.store(w); err != nil {
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

// storeLastHandled stores the essence that the handlers have seen as the last-handled state.
func (w *recorder) storeLastHandled() error {
	w.record.Finished = true
	if r := w.plan.Recall; r != nil && (!r.isMarked() || w.record.Handled == nil) {
		w.record.Handled = nil // the state was stored when the cause ended first
		return nil
	}
	raw, essence, err := w.lastHandledState()
	if err != nil {
		return err
	}
	w.record.Handled = nil
	if cause := w.plan.Cause; w.record.Behind || w.plan.Recall == nil && (essence != nil && len(cause.Diff) > 0 || cause.Old == nil) {
		return w.view.storeLastHandled(raw, essence, w.own)
	}
	return nil
}

// release removes the finalizer of a deleted object when all deletion handlers are done and no daemon is running, unless the
// operator must delete children before.
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
