package engine

import (
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// record puts the operator's records into a patch, after the calls of handlers: the progress, the failures, the last-handled
// state and the finalizer.
func (p *plan) record(s *situation, v *view, out *outcomes, handled *handledStates, own *patch.Patch) (record, error) {
	r := record{failures: p.failures, handled: handled, unfinished: s.life.unfinished, deletionHandled: s.life.deletionHandled}
	w := recorder{plan: p, situation: s, view: v, own: own, record: &r}
	var err error
	switch {
	case p.hold == holdFinalizer, p.hold == holdUnwritten:
		return r, nil
	case p.hold != holdNothing:
	case !p.cause.Reason.Handled():
		err = w.endReverted()
	case len(p.selected) == 0 && p.recall != nil:
		r.forgotten, r.finished = p.recall.failures, true
		err = w.storeFailures(state.Progress{}.WithPurpose(string(p.cause.Reason)), out)
	case len(p.selected) == 0:
		err = w.endUnhandled()
	default:
		err = w.storeOutcomes(out)
	}
	if err == nil && len(r.delays) == 0 {
		w.release()
	}
	return r, err
}

// storeOutcomes stores the outcomes of the handlers that were called. If all handlers are done, it stores the failures and the
// last-handled state, and purges the progress.
func (w *recorder) storeOutcomes(out *outcomes) (err error) {
	p, r, now := w.plan, w.record, w.situation.now
	if r.progress, err = p.progress.WithOutcomes(out.byID, now); err != nil {
		return err
	}
	if err := w.view.storeProgress(r.progress, w.own); err != nil {
		return err
	}
	done := r.progress.Done()
	w.rememberHandled(out.final, done)
	if !done {
		r.unfinished, r.delays = true, r.progress.Delays(now)
		return w.markRecalled()
	}
	if err := w.storeFailures(r.progress, out); err != nil {
		return err
	}
	if err := w.purge(r.progress); err != nil {
		return err
	}
	return w.storeLastHandled()
}

// endUnhandled ends a cause that has no handlers. Records of former handlers must not count for the next cause.
func (w *recorder) endUnhandled() error {
	if len(w.plan.progress.Handlers()) > 0 {
		if err := w.purge(w.plan.progress); err != nil {
			return err
		}
	}
	return w.storeLastHandled()
}

// storeLastHandled stores the essence that the handlers have seen as the last-handled state.
func (w *recorder) storeLastHandled() error {
	w.record.finished = true
	if w.plan.recall != nil {
		w.record.handled = nil // the state was stored when the handlers failed
		return nil
	}
	raw, essence, err := w.lastHandledState()
	if err != nil {
		return err
	}
	w.record.handled = nil
	if cause := w.plan.cause; w.record.behind || essence != nil && len(cause.Diff) > 0 || cause.Old == nil {
		return w.view.storeLastHandled(raw, essence, w.own)
	}
	return nil
}

// release removes the finalizer of an object that is being deleted, when all handlers of the deletion are done and no daemon is
// running.
func (w *recorder) release() {
	p, r := w.plan, w.record
	if w.situation.event == watch.Deleted || !p.cause.Deleted || !p.blocked || p.keeper(w.situation, r.failures) != nil {
		return
	}
	r.deletionHandled = true
	if len(w.situation.stopping) == 0 {
		r.released = true
		state.RemoveFinalizer(w.own, w.situation.finalizer)
	}
}
