package cycle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// needsPlan reports whether the cycle must detect a cause: for handlers, or for daemons that still run although the
// resource has no handlers for them.
func (c *cycle) needsPlan() bool {
	set := c.served.Handlers
	return set.Has(handlers.Changing) || set.Has(handlers.Spawning) || set.Has(handlers.Reconciling) || c.memory.Group.Load() != nil
}

// detect starts the plan of the cycle, and records the failures and the finalizer in the memory.
func (c *cycle) detect(ctx context.Context, s *plan.Situation) (err error) {
	if c.plan, err = plan.Detect(ctx, s, c.view); err != nil {
		return err
	}
	c.warnSharedState()
	first := !c.memory.Life.FailuresRead
	c.memory.Life.FailuresRead = true
	former := first && len(c.plan.Failures) > 0 && c.memory.Flags.Failed.Load() == nil
	c.noteFailed(c.plan.Failures)
	if former && c.deps.State.RetryFormer.Load() {
		c.deps.Retries.Add(c.key(), "")
	}
	c.memory.Flags.HasFinalizer.Store(c.plan.Blocked)
	return nil
}

// noteFailed records whether the object has failures, for requests to retry the failures of all objects.
func (c *cycle) noteFailed(failures []state.Failure) {
	var failed *memory.FailedRef
	if len(failures) > 0 {
		failed = &memory.FailedRef{Namespace: c.object.Namespace, Name: c.object.Name}
	}
	c.memory.Flags.Failed.Store(failed)
}

// decide completes the plan and reports it. The object's daemons and timers were already started and stopped.
func (c *cycle) decide(ctx context.Context, s *plan.Situation, passDue bool) error {
	err := c.plan.Decide(s, c.view, c.writes.Own)
	if err == nil && c.plan.UsesForeign(s, c.view) {
		if same, unread := c.hasNewestRecords(ctx); !same {
			c.plan.Hold, c.plan.Selected, c.writes.Own = plan.HoldOutdated, nil, patch.NewPatch()
			c.sent.later = true
			return unread
		}
	}
	if err == nil && c.plan.Hold == plan.HoldNothing {
		c.memory.Life.Shared = false // the object has no records, or they are the newest
	}
	if c.plan.Hold == plan.HoldRemoving {
		c.subject.Logger.Debug("Removing the finalizer, as there are no handlers requiring it.", observe.EventKey, observe.LogFinalizerRemoved)
	}
	c.report(observe.Planned{
		Begun: err == nil && c.plan.Hold == plan.HoldNothing, Selected: c.plan.Selected, Superseded: c.plan.Superseded,
		PassDue: passDue,
	})
	return err
}

// hasNewestRecords reports whether the newest version has the same records. A process with an old version must not continue a cause that
// another process has finished, nor take the records of an unfinished cause for leftovers. If the records differ, the newest version is
// handled next.
func (c *cycle) hasNewestRecords(ctx context.Context) (bool, error) {
	newest, err := c.newestUnchanged(ctx)
	if err != nil && !errors.Is(err, errOtherRecords) {
		return false, fmt.Errorf("compare the records with the newest version: %w", err)
	}
	if newest == nil {
		c.postpone()
	}
	return newest != nil, nil
}

// report emits a plan together with the cause, the failures and the background tasks of the object.
func (c *cycle) report(plan observe.Planned) {
	plan.Subject, plan.At, plan.Cause, plan.Handlers = c.subject, c.deps.Now(), c.plan.Cause, c.served.Handlers
	plan.Changing, plan.Finalizer = c.plan.Changing, c.plan.Blocked
	plan.Failures, plan.Again = c.plan.Failures, c.plan.Recall.IDs()
	if group := c.memory.Group.Load(); group != nil {
		plan.Background = (*background)(group)
	}
	if c.plan.Changing {
		plan.Orphans = state.Orphans(c.view.Stored, c.deps.Settings.Progress, c.served.Recorded)
		plan.Steps = c.plan.CountedSteps(c.view, c.served.Changing)
	}
	observe.Emit(c.deps.Sink, plan)
}

// recordCalls adds the outcomes of the calls to the operator's patch and to the memory, and reports them.
func (c *cycle) recordCalls(s *plan.Situation) (err error) {
	s.Now = c.deps.Now()
	if c.record, err = c.plan.Record(s, c.view, &c.calls.out, c.memory.Handled, c.writes.Own); err != nil {
		return err
	}
	r, life := &c.record, &c.memory.Life
	c.memory.Handled, life.Unfinished, life.DeletionHandled = r.Handled, r.Unfinished, r.DeletionHandled
	life.States.Stored = c.view.Renewed
	c.noteFailed(r.Failures)
	c.writes.Finished = r.Finished
	if r.Finished {
		c.memory.Outbox.Steps = nil
	}
	for _, f := range r.Forgotten {
		c.subject.Logger.Info("Handler '"+f.Handler+"' no longer applies to this object; forgetting its failure", observe.EventKey, observe.LogFailureForgotten)
	}
	if r.Keeper != nil {
		c.subject.Logger.Warn("Keeping the object: handler '"+r.Keeper.Handler+"' has failed for good; retry it, or remove the finalizer",
			observe.EventKey, observe.LogFinalizerKept)
	}
	if len(c.plan.Selected) > 0 {
		observe.Emit(c.deps.Sink, observe.Recorded{Subject: c.subject, Cause: c.plan.Cause, Progress: r.Progress})
	}
	if r.Released {
		c.logRelease()
	}
	return nil
}

func (c *cycle) logRelease() {
	c.subject.Logger.Debug("Removing the finalizer, thus allowing the actual deletion.", observe.EventKey, observe.LogFinalizerRemoved)
}

// endRetry ends the retry request when all of its handlers were called, or if it has none. The pass counts only if no change handler
// matches the object; while a write of the operator is pending, the pass is still to come.
func (c *cycle) endRetry(requested *memory.RetryRequest) {
	switch {
	case requested == nil:
		return
	case !c.plan.Changing:
		reconciler := c.served.Handlers.Has(handlers.Reconciling)
		if reconciler && c.plan.Hold.ForVersion() || c.calls.reconciles && requested.Calls(c.served.Handlers.Reconciler().ID) {
			return
		}
	case c.plan.Hold != plan.HoldNothing, c.calls.left, slices.ContainsFunc(c.calls.out.Parked, requested.Calls), c.plan.DefersRetry(requested):
		return
	}
	c.memory.TakeRetry(requested)
}

// warnSharedState warns, once per resource, if another program has changed the last-handled state.
func (c *cycle) warnSharedState() {
	var hash uint64
	if c.view.Handled != nil {
		hash = memory.HashEssence(c.view.Handled)
	}
	if !c.memory.Life.States.Read(hash, c.memory.Term, c.memory.Life.Unfinished) {
		return
	}
	if _, warned := c.deps.SharedState.LoadOrStore(c.served.Resource.Key(), true); warned {
		return
	}
	c.unpostedSubject().Logger.Warn("Another program has replaced the operator's last-handled state of the object: handlers can be left out or repeated. "+
		"Give each operator a separate Registry.Prefix, and replicas leader election or peering. metadata.managedFields names the program.",
		observe.EventKey, observe.LogStateShared)
}
