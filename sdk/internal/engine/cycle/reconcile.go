package cycle

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// arrive stores the newest version of the object for its passes, and reports whether a pass is due after the change handlers. The
// beginning is nil during the deletion of the object, and if the filters of the reconcile handler exclude it.
func (p *Processor) arrive(ctx context.Context, c *cycle, s *plan.Situation) (b *core.Beginning, due bool, err error) {
	h := c.served.Handlers.Reconciler()
	if h == nil || c.deleted() || c.object.Deleting || len(c.served.Handlers.Selected(handlers.Reconciling, c.plan.Cause)) == 0 {
		return nil, false, nil
	}
	progress, err := c.view.ProgressOf([]string{h.ID}, c.deps.Now())
	if err != nil {
		return nil, false, err
	}
	former, _ := progress.Handler(h.ID)
	b = &core.Beginning{
		Key: c.key(), Object: c.object, Subject: c.subject, Essence: memory.HashEssence(c.plan.Cause.New),
		Listed: c.memory.Life.Listed, RetryAt: former.Record.Delayed, Requested: s.Requested.Calls(h.ID),
	}
	return b, p.passes.Due(ctx, b), nil
}

// reconcile calls the reconcile handler of the object if a pass is due. The handler is independent of the change handlers: it has
// its own record, and causes end without it. If the filters exclude an object, its children stay as they are.
func (p *Processor) reconcile(ctx context.Context, c *cycle, s *plan.Situation, b *core.Beginning) error {
	h := c.served.Handlers.Reconciler()
	if h == nil || c.deleted() || c.plan.Hold.ForVersion() {
		return nil
	}
	if c.object.Deleting {
		return p.deleteChildren(ctx, c, s)
	}
	if len(c.calls.out.ByID) > 0 { // filters can read the memo, which the change handlers may have changed
		var err error
		if b, _, err = p.arrive(ctx, c, s); err != nil {
			return err
		}
	}
	if b == nil {
		return nil
	}
	c.calls.reconciles = true
	pass := p.passes.Begin(ctx, b)
	if pass == nil {
		return nil
	}
	progress, err := c.view.ProgressOf([]string{h.ID}, c.deps.Now())
	if err != nil {
		pass.Abort()
		return err
	}
	former, failing := progress.Handler(h.ID)
	if !c.mayBegin(h) {
		pass.Abort() // its reasons stay until the object has a slot
		return nil
	}
	if pass.Fresh() { // earlier attempts were for another state of the object
		progress, former = state.Progress{}, state.HandlerProgress{}
	}
	a := c.newAttempt(c.subject, h, c.plan.Cause)
	a.Retries, a.Started, a.Then, a.Call.Extra = former.Record.Retries, former.Record.Started, pass.Complete, pass
	out, counts := c.try(ctx, a)
	if !counts {
		pass.Abort()
		return core.ErrStopping
	}
	c.view.Kinds().Store(c.view.Stored, pass.Kinds(c.view.Kinds().Read(c.view.Stored)), c.writes.Own)
	pass.End(out)
	if health, says := pass.Health(out.Err); says {
		c.calls.conditions.Passed(b.Essence, out, health)
	}
	s.Requested.NoteCalled(h.ID)
	switch {
	case !out.Final && !out.Waits:
		progress, err = progress.WithHandlers([]string{h.ID}, a.Started).WithOutcomes(map[string]handlers.Outcome{h.ID: out}, c.deps.Now())
		if err != nil {
			return err
		}
		return c.view.StoreProgress(progress, c.writes.Own)
	case failing:
		return c.view.Purge(state.Progress{}, []string{h.ID}, c.writes.Own)
	}
	return nil
}

// deleteChildren deletes the children that the operator must delete before their parent. It does so after all delete handlers and
// all daemons have ended. It removes the finalizer after the last of these children was deleted.
func (p *Processor) deleteChildren(ctx context.Context, c *cycle, s *plan.Situation) error {
	if !c.record.AwaitsChildren {
		return nil
	}
	left, err := p.passes.Delete(ctx, &core.Beginning{Key: c.key(), Object: c.object, Subject: c.subject})
	c.sent.awaits = left
	if err != nil || len(left) > 0 {
		return err
	}
	c.record.Release(s, c.writes.Own)
	c.logRelease()
	// The progress stays until now, because it shows a restarted operator which delete handlers are done.
	return c.view.Purge(c.record.Progress, c.served.Changing, c.writes.Own)
}
