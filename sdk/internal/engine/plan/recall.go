package plan

import (
	"slices"
	"sync/atomic"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// recall is a cause that repeats an earlier one for its failed handlers. After a permanent failure, a handler is not called until the object
// changes or a retry is requested; handlers that succeeded are not called again. The plan rebuilds the cause from the failure on the object: see
// [state.Failure]. If the failure lacks the old state of an update, the handler gets an empty diff.
type recall struct {
	failures []state.Failure // failures to retry in this cause
	later    []state.Failure // failures to retry in the next cause
	byID     bool            // the change is unknown, so that only the ids select the handlers

	marked *handlers.Handler // handler of a mark; nil for failures
	called bool              // the handler of the mark has to be called
}

func (r *recall) has(id string) bool {
	return r.marked != nil && r.marked.ID == id || slices.ContainsFunc(r.failures, func(f state.Failure) bool { return f.Top() == id })
}

// postpones reports whether the failure of a handler is for another cause.
func (r *recall) postpones(id string) bool {
	return r != nil && slices.ContainsFunc(r.later, func(f state.Failure) bool { return f.Handler == id })
}

// Done reports whether a sub-handler succeeded before the failure.
func (r *recall) Done(id string) bool {
	return r != nil && slices.ContainsFunc(r.failures, func(f state.Failure) bool { return slices.Contains(f.Done, id) })
}

// IDs returns the ids of the handlers that are called again; nil if there are none.
func (r *recall) IDs() []string {
	if r == nil {
		return nil
	}
	if r.marked != nil {
		return []string{r.marked.ID}
	}
	ids := make([]string, len(r.failures))
	for i := range r.failures {
		ids[i] = r.failures[i].Top()
	}
	return ids
}

// rehandlers are the functions for the marks of "kopf rehandle": see [state.Versions]. Operators without versions do not link them. A mark
// stays on the object until its handler is done, so another process continues. The patch that ends the handling removes the mark and records
// the version, so no process repeats it. Marks for a version that this operator does not have wait for another operator.
type rehandlers struct {
	plan func(*Plan, *Situation, *View)
	end  func(*recorder) error
}

var versionsInUse atomic.Pointer[rehandlers]

// UseVersions makes the operators of the process store the versions of handlers, and call the handlers of marks.
func UseVersions() {
	versionsInUse.Store(&rehandlers{plan: (*Plan).planRehandling, end: (*recorder).endVersions})
}

// planRehandling replaces the cause of an unchanged object by the cause for the handler of a mark. Retries of failed handlers have
// precedence. For an object that no handler matches, it only ends the mark.
func (p *Plan) planRehandling(s *Situation, v *View) {
	set := s.Served.Handlers
	if !set.Versioned() || p.Recall != nil || p.Cause.Deleted || s.Event == watch.Deleted {
		return
	}
	unchanged := p.isUnchanged(set)
	if !unchanged && set.Prematch(p.Cause) {
		return
	}
	for _, mark := range v.Versions().Marks(v.Stored) {
		h, cause, matches := set.Versioning(mark.Handler, mark.Version, func(h *handlers.Handler) *handlers.Cause { return p.again(s, h) })
		if h == nil {
			continue
		}
		p.Cause, p.Recall = cause, &recall{marked: h}
		p.Recall.called = unchanged && matches && v.Versions().Of(v.Stored, h.ID) != h.Version
		return
	}
}

// again returns the cause for another call of a handler.
func (p *Plan) again(s *Situation, h *handlers.Handler) *handlers.Cause {
	switch creates := len(h.Reasons) == 0 || slices.Contains(h.Reasons, handlers.ReasonCreate); {
	case h.Family == handlers.Resume:
		return p.repeatedCause(s, handlers.ReasonResume, p.Cause.Old, true)
	case h.Family == handlers.Create, h.Family == handlers.Field && creates:
		return p.repeatedCause(s, handlers.ReasonCreate, nil, true)
	default:
		return p.repeatedCause(s, handlers.ReasonUpdate, p.Cause.Old, true)
	}
}

// isMarked reports whether the cause is for the handler of a mark.
func (r *recall) isMarked() bool { return r != nil && r.marked != nil }

// endVersions ends the marks of the handlers of a finished cause, and records the versions of the handlers that have succeeded. A handler
// of a mark whose filters do not match the object has nothing to do, and counts as succeeded. It sets Marked if the object has a mark for
// another handler of the operator, which follows the cause.
func (w *recorder) endVersions() error {
	p, set, versions := w.plan, w.situation.Served.Handlers, w.view.Versions()
	if !set.Versioned() || p.Cause.Deleted {
		return nil
	}
	handled := map[string]string{}
	if p.Recall.isMarked() && !p.Recall.called {
		versions.RemoveMark(w.view.Stored, p.Recall.marked.ID, p.Recall.marked.Version, w.own)
		if w.view.Handled != nil { // otherwise, the operator has no records on the object
			handled[p.Recall.marked.ID] = p.Recall.marked.Version
		}
	}
	for _, h := range p.Selected {
		if h.Version == "" {
			continue
		}
		versions.RemoveMark(w.view.Stored, h.ID, h.Version, w.own)
		failed := func(f state.Failure) bool { return f.Top() == h.ID } // a sub-handler
		if one, _ := w.record.Progress.Handler(h.ID); one.Record.Success && !slices.ContainsFunc(w.record.Failures, failed) {
			handled[h.ID] = h.Version
		}
	}
	for _, mark := range versions.Marks(w.view.Stored) {
		known := func(h *handlers.Handler) bool {
			return h.Version != "" && h.ID == mark.Handler && h.Version == mark.Version
		}
		_, ended := w.own.Lookup(object.Path{"metadata", "annotations", versions.MarkKey(mark.Handler, w.view.Stored)})
		w.record.Marked = w.record.Marked || !ended && set.Any(handlers.Changing, known)
	}
	return versions.Store(w.view.Stored, handled, w.own)
}
