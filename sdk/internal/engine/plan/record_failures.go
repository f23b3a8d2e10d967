package plan

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

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

// storeFailures records the failed handlers on the object when all handlers are done, and removes obsolete failures.
// After a change of the object, all earlier failures are obsolete; after a retry or resuming, only those of the called
// handlers. A deleted object has failures only if a handler keeps the object for them.
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
	has := func(id string) bool {
		return slices.ContainsFunc(failed, func(f state.Failure) bool { return f.Handler == id })
	}
	current := slices.Clone(failed)
	for _, f := range p.Failures {
		switch {
		case has(f.Handler):
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

// makesObsolete reports whether an earlier failure is obsolete when the handlers of the cause are done.
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

// keeper returns the first failure that keeps a deleted object: a permanent failure of a deletion handler with
// KeepOnFailure. It returns nil if there is none.
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
