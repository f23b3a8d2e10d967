package engine

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// markRecalled records that failed handlers are being called again, so that the next operator goes on.
func (w *recorder) markRecalled() error {
	if w.plan.recall == nil {
		return nil
	}
	for _, f := range slices.Concat(w.plan.recall.failures, w.plan.recall.later) {
		if f.Again {
			continue
		}
		f.Again = true
		if err := w.view.failures.Store(w.view.stored, f, w.own); err != nil {
			return err
		}
	}
	return nil
}

// storeFailures records on the object which handlers have failed when all are done, and removes the failures that this makes
// obsolete: all, if the object was changed; the failures of the same handlers, if these were called again or resumed. A deleted
// object has failures only if a handler keeps the object for them.
func (w *recorder) storeFailures(progress state.Progress, out *outcomes) error {
	p, r, v := w.plan, w.record, w.view
	failed, err := v.permanentFailures(progress, out.subs, p.unstoredOld())
	if err != nil {
		return err
	}
	if p.cause.Reason == handlers.ReasonDelete {
		for i := range failed {
			failed[i].UID = w.situation.object.UID
		}
	}
	has := func(id string) bool {
		return slices.ContainsFunc(failed, func(f state.Failure) bool { return f.Handler == id })
	}
	current := slices.Clone(failed)
	for _, f := range p.failures {
		switch {
		case has(f.Handler):
		case p.makesObsolete(&f, progress):
			v.failures.Remove(v.stored, f.Handler, w.own)
		case p.recall.postpones(f.Handler):
			f.Again = true
			failed, current = append(failed, f), append(current, f)
		default:
			current = append(current, f)
		}
	}
	if p.cause.Reason == handlers.ReasonDelete {
		if r.keeper = p.keeper(w.situation, current); r.keeper == nil {
			for _, f := range p.failures {
				v.failures.Remove(v.stored, f.Handler, w.own)
			}
			r.failures = nil
			return nil
		}
	}
	for _, f := range failed {
		if err := v.failures.Store(v.stored, f, w.own); err != nil {
			return err
		}
	}
	r.failures = current
	return nil
}

// makesObsolete reports whether a failure does not count when the handlers of the cause are done.
func (p *plan) makesObsolete(f *state.Failure, progress state.Progress) bool {
	switch {
	case p.recall != nil:
		return p.recall.has(f.Top()) && !p.recall.postpones(f.Handler)
	case p.cause.Reason == handlers.ReasonResume:
		h, known := progress.Handler(f.Top())
		return known && h.Active
	default:
		return true
	}
}

// keeper returns the first of the failures for which a deleted object is kept: a handler that must succeed has failed for good.
// It returns nil if there is none.
func (p *plan) keeper(s *situation, failures []state.Failure) *state.Failure {
	for i := range failures {
		f := &failures[i]
		keeps := func(h *handlers.Handler) bool { return h.ID == f.Top() && h.KeepOnFailure }
		if f.IsDeletionOf(s.object.UID) && s.served.handlers.Any(handlers.Changing, keeps) {
			return f
		}
	}
	return nil
}

// unstoredOld returns the essence before the change, as far as the diff base does not have it.
func (p *plan) unstoredOld() map[string]any {
	if p.cause.Reason != handlers.ReasonUpdate || p.recall != nil && p.recall.byID {
		return nil
	}
	return p.cause.Old
}
