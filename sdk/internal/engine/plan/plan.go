// Package plan makes the decisions of a cycle as functions of values: how to handle an object, what to record, and how to wait.
package plan

import (
	"context"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Situation is the input of a plan, in addition to the records on the object.
type Situation struct {
	Served    *core.ServedResource
	Object    *object.Object
	Event     string // DELETED, LISTED, or another type of an event
	Finalizer string // name of the operator's finalizer
	Memo      any
	Life      memory.Life
	Retired   map[string]bool      // keys are the ids of daemons and timers that do not start again
	Requested *memory.RetryRequest // pending retry request; nil if there is none
	Stopping  []time.Duration      // times until stopping daemons must be checked; empty if no daemon is stopping
	Now       time.Time
}

// Plan is the decision how a cycle handles the changes of an object. It is made before change handlers are called.
type Plan struct {
	Cause    *handlers.Cause // nil if the resource has neither change nor reconcile handlers, daemons nor timers
	Changing bool            // a change handler matches the object
	Blocked  bool            // the object has the operator's finalizer
	Hold     Hold            // the reason why change handlers are not called in this cycle
	Failures []state.Failure // permanent failures that are recorded on the object
	Recall   *recall         // failed handlers that are called again; nil for an ordinary cause

	Selected   []*handlers.Handler // handlers of the cause; empty if its reason has no handlers
	Progress   state.Progress      // progress of the selected handlers
	recorded   bool                // the object has records of change handlers; only for causes with handlers
	Superseded map[string]state.Counts
}

// Hold is the reason why a cycle does not call change handlers.
type Hold int

// The values of Hold.
const (
	HoldNothing     Hold = iota
	HoldUnwritten        // outcomes of an earlier cycle must be written first
	HoldOutdated         // the records of another process are not known to be the newest
	HoldAdding           // the handlers see the version with the added finalizer
	HoldRemoving         // the handlers see the version without the finalizer, which nothing requires
	HoldUninvolved       // no change handler matches the object
	HoldDeletionEnd      // all handlers of the deletion are done
)

// ForVersion reports whether the handlers wait for a newer version, which the operator makes or reads.
func (h Hold) ForVersion() bool { return h != HoldNothing && h < HoldUninvolved }

// Detect compares the object with its last-handled state: it finds the cause, and whether change handlers match.
func Detect(ctx context.Context, s *Situation, v *View) (Plan, error) {
	old, err := v.lastHandled()
	if err != nil {
		return Plan{}, err
	}
	essence := v.essence(v.Stored)
	changes := object.ComputeDiff(treeOrNil(old), essence)
	p := Plan{Blocked: state.HasFinalizer(v.Tree, s.Finalizer), Failures: v.failures.Read(v.Stored, s.Served.Changing)}
	deleting := state.Deleting(v.Tree)
	reason, initial := handlers.DetectReason(handlers.Evidence{
		EventType: s.Event, Deleting: deleting, Blocked: p.Blocked, Handled: old != nil,
		EssenceChanged: len(changes) > 0, Initial: s.Life.Listed && !s.Life.Resumed,
	})
	failed := func(f state.Failure) bool { return f.IsDeletionOf(s.Object.UID) }
	if reason == handlers.ReasonDelete && slices.ContainsFunc(p.Failures, failed) { // the handlers are not called again without a request
		reason = handlers.ReasonNoop
		if initial {
			reason = handlers.ReasonResume
		}
	}
	p.Cause = &handlers.Cause{
		Resource: s.Served.Resource, Object: s.Object, EventType: s.Event, Tree: v.Tree,
		Reason: reason, Initial: initial, Deleted: deleting,
		Old: old, New: essence, Diff: changes, Excluded: s.Retired, Context: ctx, Views: &handlers.Views{Memo: s.Memo},
	}
	p.planRecall(s)
	if versions := versionsInUse.Load(); versions != nil {
		versions.plan(&p, s, v)
	}
	// An object that no handler matches is ignored: nothing is stored or logged.
	set := s.Served.Handlers
	p.Changing = set.Has(handlers.Changing) && (set.Prematch(p.Cause) || p.Recall.isMarked())
	if s.Event != watch.Deleted && !p.Cause.Deleted && !p.Blocked && set.RequiresFinalizer(p.Cause) {
		p.Hold = HoldAdding
	}
	return p, nil
}

// Decide selects the handlers of the cause and reads their progress, unless change handlers must wait. It adds the finalizer to the
// patch or removes it, and removes the records of superseded causes.
func (p *Plan) Decide(s *Situation, v *View, own *patch.Patch) error {
	if s.Event != watch.Deleted && p.Blocked && len(s.Stopping) == 0 && !s.Served.Handlers.RequiresFinalizer(p.Cause) &&
		!s.Served.Handlers.DeletesChildren() { // an object that the filters do not match any longer can still have children
		p.Hold = HoldRemoving
	}
	switch {
	case p.Hold == HoldAdding:
		state.AddFinalizer(own, s.Finalizer)
	case p.Hold == HoldRemoving:
		state.RemoveFinalizer(own, s.Finalizer)
	case !p.Changing:
		p.Hold = HoldUninvolved
	case p.Cause.Reason == handlers.ReasonDelete && s.Life.DeletionHandled:
		p.Hold = HoldDeletionEnd
	}
	if p.Hold != HoldNothing || !p.Cause.Reason.Handled() {
		return nil
	}
	p.Selected = p.selectHandlers(s.Served.Handlers)
	if err := p.readProgress(s, v, own); err != nil {
		return err
	}
	if s.Requested != nil && !p.DefersRetry(s.Requested) {
		p.Progress = p.Progress.Restarted(s.Requested.Restarts, s.Now)
	}
	return nil
}

// planRecall replaces the cause of an unchanged object by the cause for which its handlers failed, if a request or the
// records ask to retry them. Changes and resuming have precedence.
func (p *Plan) planRecall(s *Situation) {
	if len(p.Failures) == 0 || !p.isUnchanged(s.Served.Handlers) {
		return
	}
	r := &recall{}
	for _, f := range p.Failures {
		switch {
		case !f.Again && !s.Requested.Means(f.Handler):
		case len(r.failures) == 0 || f.Purpose == r.failures[0].Purpose && f.Rehandled == r.failures[0].Rehandled:
			r.failures = append(r.failures, f)
		default:
			r.later = append(r.later, f)
		}
	}
	if len(r.failures) == 0 {
		return
	}
	first, old := &r.failures[0], p.Cause.Old
	reason := handlers.Reason(first.Purpose)
	r.byID = reason == handlers.ReasonUpdate && first.Old == nil
	switch {
	case reason == handlers.ReasonCreate:
		old = nil
	case reason == handlers.ReasonUpdate && !r.byID:
		old = first.Old
	}
	p.Cause, p.Recall = p.repeatedCause(s, reason, old, first.Rehandled), r
}

// repeatedCause returns the cause for another call of handlers.
func (p *Plan) repeatedCause(s *Situation, reason handlers.Reason, old map[string]any, rehandled bool) *handlers.Cause {
	cause := *p.Cause
	cause.Reason, cause.Old, cause.Initial, cause.Again, cause.Views = reason, old, true, rehandled, &handlers.Views{Memo: s.Memo}
	cause.Diff = object.ComputeDiff(treeOrNil(old), cause.New)
	return &cause
}

// isUnchanged reports whether the object needs no handling except for retries of failed handlers.
func (p *Plan) isUnchanged(set *handlers.Set) bool {
	reason := p.Cause.Reason
	return reason == handlers.ReasonNoop || reason == handlers.ReasonResume && len(set.Selected(handlers.Changing, p.Cause)) == 0
}

func (p *Plan) selectHandlers(set *handlers.Set) []*handlers.Handler {
	switch r := p.Recall; {
	case r == nil:
		return set.Selected(handlers.Changing, p.Cause)
	case r.called:
		return []*handlers.Handler{r.marked}
	case r.isMarked():
		return nil
	}
	all := set.Selected(handlers.Changing, p.Cause)
	if p.Recall.byID {
		all = set.Handlers(handlers.Changing)
	}
	var hs []*handlers.Handler
	for _, h := range all {
		repeats := func(other *handlers.Handler) bool { return p.Recall.byID && other.ID == h.ID } // another registration of it
		if p.Recall.has(h.ID) && !slices.ContainsFunc(hs, repeats) {
			hs = append(hs, h)
		}
	}
	return hs
}

// readProgress reads the progress of the cause. It counts the progress of unfinished earlier causes by their reasons, and purges it. The records
// of the selected handlers stay: they are only written again if they change.
func (p *Plan) readProgress(s *Situation, v *View, own *patch.Patch) error {
	progress, err := v.ProgressOf(s.Served.Changing, s.Now)
	if err != nil {
		return err
	}
	p.recorded = len(progress.Handlers()) > 0
	ids := core.IDsOf(p.Selected)
	progress = progress.WithPurpose(string(p.Cause.Reason)).WithHandlers(ids, s.Now)
	if p.Superseded = progress.Extras(); len(p.Superseded) > 0 {
		progress = progress.WithPurpose(string(p.Cause.Reason), ids...)
	}
	p.Progress = progress
	if len(progress.Extras()) == 0 {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(s.Served.Changing), func(id string) bool { return slices.Contains(ids, id) })
	return v.Purge(progress.Passive(), others, own)
}

// UsesForeign reports whether the plan continues or removes records that another process may have written.
func (p *Plan) UsesForeign(s *Situation, v *View) bool {
	switch {
	case p.Hold != HoldNothing, s.Life.Unfinished && !s.Life.Shared:
		return false
	case p.Cause.Reason.Handled():
		return p.recorded
	case p.Cause.Reason != handlers.ReasonNoop, !s.Life.Unfinished && !state.HasRecords(v.Stored, v.Progress):
		return false
	}
	progress, err := v.ProgressOf(s.Served.Changing, s.Now)
	return err != nil || len(progress.Handlers()) > 0 // otherwise, the records belong to other operators
}

// Engaged reports whether the cycle handles the changes of the object.
func (p *Plan) Engaged() bool { return p.Changing && !p.Hold.ForVersion() }

// Due returns the handlers from which the lifecycle chooses: handlers whose delay is over, and delayed handlers that a retry request includes.
// Handlers that may not begin now, because they have no slot, are not due.
func Due(
	hs []*handlers.Handler, progress state.Progress, requested *memory.RetryRequest, now time.Time, mayBegin func(*handlers.Handler) bool,
) []handlers.Due {
	all := make([]handlers.Due, 0, len(hs))
	for _, h := range hs {
		one, ok := progress.Handler(h.ID)
		if ok && (one.Awakened(now) || requested.Calls(h.ID) && !one.Finished()) && mayBegin(h) {
			all = append(all, handlers.Due{ID: h.ID, Retries: one.Record.Retries})
		}
	}
	return all
}

// DefersRetry reports whether a retry request must wait until the resume handlers are done.
func (p *Plan) DefersRetry(requested *memory.RetryRequest) bool {
	return p.Recall == nil && p.Cause.Reason == handlers.ReasonResume &&
		slices.ContainsFunc(p.Failures, func(f state.Failure) bool { return requested.Means(f.Handler) })
}

// treeOrNil returns an untyped nil for an absent tree.
func treeOrNil(tree map[string]any) any {
	if tree == nil {
		return nil
	}
	return tree
}
