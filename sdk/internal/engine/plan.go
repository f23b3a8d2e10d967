package engine

import (
	"context"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// situation is all that a plan depends on, besides the records on the object.
type situation struct {
	served    *servedResource
	object    *object.Object
	event     string // DELETED, LISTED, or another type of an event
	finalizer string // name of the operator's finalizer
	memo      any
	life      life
	retired   map[string]struct{} // ids of daemons and timers that do not start again
	requested *retryRequest       // nil if nothing is to be retried now
	stopping  []time.Duration     // times until daemons that are stopping must be checked; none if no daemon is stopping
	now       time.Time
}

// plan says how a cycle handles the changes of an object. It is made before change handlers are called.
type plan struct {
	cause     *handlers.Cause // nil if the resource has neither change handlers nor daemons nor timers
	changing  bool            // change handlers are interested in the object
	blocked   bool            // the object has the operator's finalizer
	finalizer finalizerChange
	hold      hold            // the reason why change handlers are not called in this cycle
	failures  []state.Failure // permanent failures that are recorded on the object
	recall    *recall         // failed handlers that are called again; nil if the cause is an ordinary one

	selected   []*handlers.Handler // handlers of the cause; none if its reason has no handlers
	progress   state.Progress      // progress of the selected handlers
	superseded map[string]state.Counts
}

// finalizerChange is what a cycle does about the finalizer.
type finalizerChange int

const (
	finalizerUnchanged finalizerChange = iota
	finalizerAdded
	finalizerRemoved
)

// hold is a reason for which a cycle does not call change handlers.
type hold int

const (
	holdNothing     hold = iota
	holdUnwritten        // outcomes of an earlier cycle must be written first
	holdFinalizer        // the handlers see the version with the changed finalizer
	holdUninvolved       // no change handler is interested in the object
	holdDeletionEnd      // all handlers of the deletion are done
)

// detect compares the object with its last-handled state: it finds the cause, and whether handlers are interested.
func detect(ctx context.Context, s *situation, v *view) (plan, error) {
	old, err := v.lastHandled()
	if err != nil {
		return plan{}, err
	}
	essence := v.essence(v.stored)
	changes := object.ComputeDiff(treeOrNil(old), essence)
	p := plan{blocked: state.HasFinalizer(v.tree, s.finalizer), failures: v.failures.Read(v.stored, s.served.changing)}
	deleting := state.Deleting(v.tree)
	reason, initial := handlers.DetectReason(handlers.Evidence{
		EventType: s.event, Deleting: deleting, Blocked: p.blocked, Handled: old != nil,
		EssenceChanged: len(changes) > 0, Initial: s.life.listed && !s.life.resumed,
	})
	p.cause = &handlers.Cause{
		Resource: s.served.resource, Object: s.object, EventType: s.event, Tree: v.tree,
		Reason: reason, Initial: initial, Deleted: deleting,
		Old: old, New: essence, Diff: changes, Excluded: s.retired, Context: ctx, Views: &handlers.Views{Memo: s.memo},
	}
	p.planRecall(s)
	// An object that no handler matches is left alone: nothing is stored or logged.
	set := s.served.handlers
	p.changing = set.Has(handlers.Changing) && set.Prematch(p.cause)
	if s.event != watch.Deleted && !p.cause.Deleted && !p.blocked && set.RequiresFinalizer(p.cause) {
		p.finalizer = finalizerAdded
	}
	return p, nil
}

// decide selects the handlers of the cause and reads their progress, unless change handlers must wait. The patch gets the
// changes of records that must come before the calls.
func (p *plan) decide(s *situation, v *view, own *patch.Patch) error {
	if s.event != watch.Deleted && p.blocked && len(s.stopping) == 0 && !s.served.handlers.RequiresFinalizer(p.cause) {
		p.finalizer = finalizerRemoved
	}
	switch {
	case p.finalizer == finalizerAdded:
		p.hold = holdFinalizer
		state.AddFinalizer(own, s.finalizer)
		return nil
	case p.finalizer == finalizerRemoved:
		p.hold = holdFinalizer
		state.RemoveFinalizer(own, s.finalizer)
		return nil
	case !p.changing:
		p.hold = holdUninvolved
		return nil
	case p.cause.Reason == handlers.ReasonDelete && s.life.deletionHandled:
		p.hold = holdDeletionEnd
		return nil
	case !p.cause.Reason.Handled():
		return nil
	}
	p.selected = p.selectHandlers(s.served.handlers)
	if err := p.readProgress(s, v, own); err != nil {
		return err
	}
	if s.requested != nil && !p.defersRetry(s.requested) {
		p.progress = p.progress.Restarted(s.requested.restarts, s.now)
	}
	return nil
}

// planRecall replaces the cause of an unchanged object by the cause that its handlers failed for, if they are to be called again.
// Changes and resuming come first.
func (p *plan) planRecall(s *situation) {
	if len(p.failures) == 0 {
		return
	}
	p.endFailedDeletion(s)
	if !p.isUnchanged(s.served.handlers) {
		return
	}
	chosen := slices.DeleteFunc(slices.Clone(p.failures), func(f state.Failure) bool { return !f.Again && !s.requested.means(f.Handler) })
	if len(chosen) == 0 {
		return
	}
	r, purpose := &recall{}, chosen[0].Purpose
	for _, f := range chosen {
		if f.Purpose == purpose {
			r.failures = append(r.failures, f)
		} else {
			r.later = append(r.later, f)
		}
	}
	old := p.cause.Old
	switch handlers.Reason(purpose) {
	case handlers.ReasonCreate:
		old = nil
	case handlers.ReasonUpdate:
		r.byID = r.failures[0].Old == nil
		if !r.byID {
			old = r.failures[0].Old
		}
	default:
	}
	cause := *p.cause
	cause.Reason, cause.Initial, cause.Old = handlers.Reason(purpose), true, old
	cause.Diff = object.ComputeDiff(treeOrNil(old), cause.New)
	cause.Views = &handlers.Views{Memo: s.memo}
	p.cause, p.recall = &cause, r
}

// endFailedDeletion replaces the cause of an object whose deletion was handled, and failed: its handlers are not called again
// unless a request says so.
func (p *plan) endFailedDeletion(s *situation) {
	handled := func(f state.Failure) bool { return f.IsDeletionOf(s.object.UID) }
	if p.cause.Reason != handlers.ReasonDelete || !slices.ContainsFunc(p.failures, handled) {
		return
	}
	cause := *p.cause
	cause.Reason = handlers.ReasonNoop
	if cause.Initial {
		cause.Reason = handlers.ReasonResume
	}
	cause.Views = &handlers.Views{Memo: s.memo}
	p.cause = &cause
}

// isUnchanged reports whether nothing is to be done for the object but to call failed handlers again.
func (p *plan) isUnchanged(set *handlers.Set) bool {
	switch p.cause.Reason {
	case handlers.ReasonNoop:
		return true
	case handlers.ReasonResume:
		return len(set.Selected(handlers.Changing, p.cause)) == 0
	default:
		return false
	}
}

// selectHandlers returns the handlers that are called for the cause.
func (p *plan) selectHandlers(set *handlers.Set) []*handlers.Handler {
	if p.recall == nil {
		return set.Selected(handlers.Changing, p.cause)
	}
	var hs []*handlers.Handler
	if p.recall.byID {
		for _, h := range set.Handlers(handlers.Changing) {
			same := func(other *handlers.Handler) bool { return other.ID == h.ID }
			if !slices.ContainsFunc(hs, same) {
				hs = append(hs, h)
			}
		}
	} else {
		hs = slices.Clone(set.Selected(handlers.Changing, p.cause))
	}
	return slices.DeleteFunc(hs, func(h *handlers.Handler) bool { return !p.recall.has(h.ID) })
}

// readProgress reads the progress of the cause so far. The progress of earlier causes that were not completed is counted by
// their reasons, and purged.
func (p *plan) readProgress(s *situation, v *view, own *patch.Patch) error {
	progress, err := v.progressOf(s.served.changing, s.now)
	if err != nil {
		return err
	}
	ids := idsOf(p.selected)
	progress = progress.WithPurpose(string(p.cause.Reason)).WithHandlers(ids, s.now)
	if p.superseded = progress.Extras(); len(p.superseded) > 0 {
		progress = progress.WithPurpose(string(p.cause.Reason), ids...)
	}
	p.progress = progress
	if len(progress.Extras()) == 0 {
		return nil
	}
	return v.purge(progress, s.served.changing, own)
}

// engaged reports whether the cycle handles the changes of the object.
func (p *plan) engaged() bool {
	return p.changing && p.hold != holdFinalizer && p.hold != holdUnwritten
}

// due returns the handlers that are called now if the lifecycle chooses them: those whose time has come, and delayed ones that a
// request is about.
func due(hs []*handlers.Handler, progress state.Progress, requested *retryRequest, now time.Time) []handlers.Due {
	all := make([]handlers.Due, 0, len(hs))
	for _, h := range hs {
		one, ok := progress.Handler(h.ID)
		if ok && (one.Awakened(now) || requested.calls(h.ID) && !one.Finished()) {
			all = append(all, handlers.Due{ID: h.ID, Retries: one.Record.Retries})
		}
	}
	return all
}

// defersRetry reports whether a request to retry must wait until the handlers of resuming are done.
func (p *plan) defersRetry(requested *retryRequest) bool {
	return p.recall == nil && p.cause.Reason == handlers.ReasonResume &&
		slices.ContainsFunc(p.failures, func(f state.Failure) bool { return requested.means(f.Handler) })
}

// treeOrNil returns an untyped nil for an absent tree.
func treeOrNil(tree map[string]any) any {
	if tree == nil {
		return nil
	}
	return tree
}
