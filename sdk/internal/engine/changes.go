package engine

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// needsPlan reports whether it matters what happened to the object: to handlers, or to daemons that still run although the
// resource has no handlers for them.
func (c *cycle) needsPlan() bool {
	set := c.served.handlers
	return set.Has(handlers.Changing) || set.Has(handlers.Spawning) || c.memory.group.Load() != nil
}

// detect begins the plan of the cycle, and notes the failures and the finalizer in the memory.
func (c *cycle) detect(ctx context.Context, s *situation) (err error) {
	if c.plan, err = detect(ctx, s, c.view); err != nil {
		return err
	}
	c.warnSharedState()
	first := !c.memory.life.failuresRead
	c.memory.life.failuresRead = true
	former := first && len(c.plan.failures) > 0 && c.memory.flags.failed.Load() == nil
	c.noteFailed(c.plan.failures)
	if former && c.deps.state.retryFormer.Load() {
		c.deps.retries.add(retryJob{key: c.key()})
	}
	if !c.plan.changing {
		c.memory.takeRetry(s.requested) // there is nothing to retry
	}
	c.memory.flags.hasFinalizer.Store(c.plan.blocked)
	return nil
}

// noteFailed notes whether the object has failures, for requests to retry all of them.
func (c *cycle) noteFailed(failures []state.Failure) {
	switch failed := c.memory.flags.failed.Load(); {
	case len(failures) == 0:
		c.memory.flags.failed.Store(nil)
	case failed == nil:
		c.memory.flags.failed.Store(&failedRef{namespace: c.object.Namespace, name: c.object.Name})
	}
}

// decide completes the plan and reports it. Before, the daemons and timers of the object have been started and stopped.
func (c *cycle) decide(s *situation) error {
	err := c.plan.decide(s, c.view, c.writes.own)
	if c.plan.finalizer == finalizerRemoved {
		c.subject.Logger.Debug("Removing the finalizer, as there are no handlers requiring it.", observe.EventKey, observe.LogFinalizerRemoved)
	}
	c.report(observe.Planned{
		Begun: err == nil && c.plan.hold == holdNothing, Selected: c.plan.selected, Superseded: c.plan.superseded,
	})
	return err
}

// report reports a plan together with the cause, the failures and the background tasks of the object.
func (c *cycle) report(plan observe.Planned) {
	plan.Subject, plan.At, plan.Cause, plan.Handlers = c.subject, c.deps.now(), c.plan.cause, c.served.handlers
	plan.Changing, plan.Finalizer = c.plan.changing, c.plan.blocked
	plan.Failures, plan.Again = c.plan.failures, c.plan.recall.ids()
	if group := c.memory.group.Load(); group != nil {
		plan.Background = (*background)(group)
	}
	if c.plan.changing {
		plan.Orphans = state.Orphans(c.view.stored, c.deps.settings.Progress, c.served.changing)
	}
	observe.Tell(c.deps.sink, plan)
}

// recordCalls puts the outcomes of the calls into the operator's patch and into the memory, and reports them.
func (c *cycle) recordCalls(s *situation) (err error) {
	s.now = c.deps.now()
	if c.record, err = c.plan.record(s, c.view, &c.calls.out, c.memory.handled, c.writes.own); err != nil {
		return err
	}
	r, life := &c.record, &c.memory.life
	c.memory.handled, life.unfinished, life.deletionHandled = r.handled, r.unfinished, r.deletionHandled
	life.states.stored = c.view.renewed
	c.noteFailed(r.failures)
	c.writes.finished = r.finished
	for _, f := range r.forgotten {
		c.subject.Logger.Info("Handler '"+f.Handler+"' is not for this object anymore; forgetting its failure", observe.EventKey, observe.LogFailureForgotten)
	}
	if r.keeper != nil {
		c.subject.Logger.Warn("Keeping the object: handler '"+r.keeper.Handler+"' has failed for good; retry it, or remove the finalizer",
			observe.EventKey, observe.LogFinalizerKept)
	}
	if len(c.plan.selected) > 0 {
		observe.Tell(c.deps.sink, observe.Recorded{Subject: c.subject, Cause: c.plan.cause, Progress: r.progress})
	}
	if r.released {
		c.subject.Logger.Debug("Removing the finalizer, thus allowing the actual deletion.", observe.EventKey, observe.LogFinalizerRemoved)
	}
	return nil
}

// endRetry ends the request to retry when all of its handlers were called.
func (c *cycle) endRetry(requested *retryRequest) {
	if requested != nil && c.plan.hold == holdNothing && !c.calls.left && !c.plan.defersRetry(requested) {
		c.memory.takeRetry(requested)
	}
}
