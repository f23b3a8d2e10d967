// Package cycle handles one object at a time. Each cycle goes from the newest version of the object to the PATCH with
// the outcome.
package cycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/indexing"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Processor runs the cycles of all objects. It is safe for concurrent use.
type Processor struct {
	deps      *core.Deps
	invoker   *call.Invoker
	memories  *memory.Memories
	resources IndexedResources
	detached  *memory.DetachedDaemons
	passes    core.Passes

	conditions core.Conditions
	background context.Context // context of daemons and timers
}

// IndexedResources are the served resources with their indexers.
type IndexedResources interface {
	// Served returns the resource with a key; nil if the resource is not served.
	Served(key string) *core.ServedResource

	// Indexer returns the indexer of the objects in a namespace; nil if they are not indexed.
	Indexer(resource, namespace string) *indexing.Indexer
}

// NewProcessor returns the processor of an operator.
func NewProcessor(d *core.Deps, m *memory.Memories, detached *memory.DetachedDaemons, i *call.Invoker, resources IndexedResources, passes core.Passes, kept core.Conditions) *Processor {
	return &Processor{
		deps: d, invoker: i, memories: m, resources: resources, detached: detached, passes: passes, conditions: kept,
		background: kube.InBulk(d.Background), // thousands of timers must not delay the events of objects
	}
}

// Process runs one cycle of an object. The queue calls it.
func (p *Processor) Process(ctx context.Context, batch *queue.Batch) *queue.Next {
	served, newest := p.resources.Served(batch.Key.Resource), batch.Newest
	ctx, end := p.deps.Running.Begin(ctx, batch.Key, newest.Object.Namespace)
	defer end()
	if limits := p.deps.Limits; limits != nil {
		limits.BeginCycle(batch.Key)
		defer limits.EndCycle(batch.Key)
	}
	if served == nil {
		return nil
	}
	ctx = p.deps.EnterTerm(ctx, served, newest.Object)
	if fence.MayBegin(ctx) != nil {
		return nil // dropping the batch is safe, because the operator relists all objects before it acts again
	}
	if p.deps.Graves.IsLate(batch.Key, newest, batch.Listed, batch.Complete) {
		p.deps.DropLate(newest.Object)
		return nil
	}
	m := p.memories.Recall(batch.Key, newest.Object.Namespace, batch.Listed, p.deps.NewMemo)
	outdated := m.EnterTerm(p.memories.Term.Load(), newest.Object)
	m.Ledger.Listed(newest.Object, batch.Complete)
	if batch.Listed {
		m.Outbox.DropStarts()
	}
	if batch.Listed || outdated {
		p.conditions.Of(batch.Key, served).Relisted(outdated)
	}
	if outdated {
		p.passes.Outdate(batch.Key)
	}
	if newest.Type == watch.Deleted {
		defer p.forget(batch.Key, m)
		if leftSelection(ctx, p.deps, served, newest.Object) {
			p.leave(ctx, served, m, batch)
			return nil
		}
		if p.deps.Settings.Selection.Labels == "" || !served.Narrowed() { // otherwise the object may only have left the selection
			p.deps.Graves.Bury(batch.Key.Resource, newest.Object.UID, newest.Object.ResourceVersion)
		}
	}
	if wait := m.Throttle.Remaining(p.deps.Now()); wait > 0 && newest.Type != watch.Deleted {
		return &queue.Next{After: wait} // the retry only needs the newest version
	}
	obj, news := m.Ledger.Take(batch, m.Retry.Load() != nil || m.Outbox.Held != nil, p.deps.Now())
	switch {
	case news == memory.NewsNothing && !served.Handlers.Has(handlers.Watching):
		return m.Remaining(p.deps.Now()) // the operator's own patch came back; it is not even decoded
	case news == memory.NewsReread:
		var err error
		if obj, err = p.deps.NewestVersion(ctx, served.Resource, newest.Object.Namespace, newest.Object.Name, newest.Object.UID); err != nil {
			return m.WakeAfter(&queue.Next{After: rereadDelay}, p.deps.Now())
		}
		if obj == nil {
			return nil // the event of the deletion follows
		}
		m.Ledger.Took(obj)
	}
	batch.Newest.Object, batch.Bodiless = obj, false
	c := p.newCycle(served, m, batch)
	c.news = news
	var index *indexing.Indexer
	if len(served.Indexes) > 0 {
		if index = p.resources.Indexer(batch.Key.Resource, obj.Namespace); index != nil {
			defer index.Handling(batch.Key.Object)()
		}
	}
	next, err := p.run(ctx, c)
	next = c.endCycle(ctx, next, err)
	p.passes.Update(batch.Key, c.sent.answer)
	if fence.MayBegin(ctx) != nil {
		return nil // the next operator that may act continues
	}
	return m.WakeAfter(c.followAnswer(ctx, next, err, index), p.deps.Now())
}

// leave stops the handling of an object that does not match the label selector. Event handlers still receive the events
// before it left the selection.
func (p *Processor) leave(ctx context.Context, served *core.ServedResource, m *memory.Memory, batch *queue.Batch) {
	p.detached.Stop(batch.Key, m, daemons.FiltersMismatch)
	// The type of the last event is DELETED, but the object was not deleted.
	batch.Events = batch.Events[:max(0, len(batch.Events)-1)]
	c := p.newCycle(served, m, batch)
	err := c.callEventHandlers(ctx)
	if err == nil && !c.writes.Handlers.Empty() {
		c.subject.Logger.Warn("Discarding the patch of event handlers: the object no longer matches the label selector",
			observe.EventKey, observe.LogPatchFailed)
	}
	c.endCycle(ctx, nil, err)
}

// leftSelection reports whether an object still exists after an event of its deletion, because its labels do not match
// the selector. The event does not show the reason, because it has the last version that did match. The function reads
// the newest version, unless no handler needs the answer.
func leftSelection(ctx context.Context, d *core.Deps, res *core.ServedResource, last *object.Object) bool {
	learns := res.Handlers.Has(handlers.Watching) || res.Handlers.Has(handlers.Spawning)
	if d.Settings.Selection.Labels == "" || !learns {
		return false
	}
	newest, err := d.NewestVersion(ctx, res.Resource, last.Namespace, last.Name, last.UID)
	if err != nil {
		d.ObjectLogger(res.Resource, last).Warn("Cannot find out whether the object was deleted or no longer matches the label selector; assuming the latter",
			observe.EventKey, observe.LogSelectionUnknown, "error", err)
		return true
	}
	return newest != nil
}

func (p *Processor) newCycle(served *core.ServedResource, m *memory.Memory, batch *queue.Batch) *cycle {
	return &cycle{
		deps: p.deps, invoker: p.invoker, served: served, memory: m, batch: batch, object: batch.Newest.Object,
		subject: p.deps.Subject(m.Identity, served.Resource, batch.Newest.Object), began: p.deps.Now(),
		writes: outbox.Writes{Handlers: patch.NewPatch(), Own: patch.NewPatch()},
		calls:  calls{conditions: p.conditions.Of(batch.Key, served)},
	}
}

func (p *Processor) forget(key queue.Key, m *memory.Memory) {
	p.memories.Forget(key)
	p.deps.Forget(key)
	m.TakeRetry(m.Retry.Load())
	observe.Emit(p.deps.Sink, observe.ObjectForgotten{Identity: m.Identity})
}

// run runs the steps of a cycle. For a paused object, it only sends unwritten changes, and stops the daemons.
func (p *Processor) run(ctx context.Context, c *cycle) (next *queue.Next, err error) {
	defer core.RecoverPanic(&err)
	if err := c.look(ctx); err != nil {
		return nil, err
	}
	defer c.object.DropTree()
	if c.news == memory.NewsNothing {
		return c.passEvents(ctx)
	}
	c.endSleep()
	ready, unwritten := c.writeHeld(ctx)
	if c.notePause() {
		stopping := p.leaveAlone(c)
		if unwritten != nil {
			return nil, unwritten // the throttle retries it
		}
		return c.next(stopping), nil
	}
	if err := c.callEventHandlers(ctx); err != nil {
		return nil, err
	}
	if !ready {
		return p.holdChanges(ctx, c, unwritten)
	}
	s := c.situation()
	var b *core.Beginning
	if c.needsPlan() {
		if b, err = p.handleChanges(ctx, c, s); err != nil {
			if c.plan.Hold == plan.HoldOutdated && !c.deleted() {
				err = errors.Join(err, c.apply(ctx)) // the patch of the event handlers needs no records
			}
			return nil, err
		}
	} else {
		c.report(observe.Planned{})
	}
	if c.deleted() {
		return nil, nil // a deleted object cannot be patched
	}
	stopped := p.reconcile(ctx, c, s, b)
	if stopped != nil && (len(c.calls.out.ByID) == 0 || !core.IsFenced(stopped)) {
		return nil, stopped
	}
	err = c.apply(ctx)      // also when the operator stops or loses its lease: the outcomes of change handlers must not be lost
	c.endRetry(s.Requested) // the handlers were called, whether or not their patch was accepted
	if err = errors.Join(err, stopped); err != nil {
		return nil, err
	}
	c.keepConditions(ctx)
	return c.next(s.Stopping), nil
}

// handleChanges plans the handling of the object's changes, calls the handlers, and adds the outcome to the patches of
// the cycle. It returns the beginning of a pass as arrive does.
func (p *Processor) handleChanges(ctx context.Context, c *cycle, s *plan.Situation) (*core.Beginning, error) {
	if err := c.detect(ctx, s); err != nil {
		return nil, err
	}
	if c.plan.Hold == plan.HoldAdding {
		c.subject.Logger.Debug("Adding the finalizer, thus preventing the actual deletion.", observe.EventKey, observe.LogFinalizerAdded)
	}
	s.Stopping = p.followDaemons(c)
	b, due, err := p.arrive(ctx, c, s)
	if err != nil {
		return nil, err
	}
	if err := c.decide(ctx, s, due); err != nil {
		return nil, err
	}
	if err := c.callPlanned(ctx, s.Requested); err != nil {
		return nil, err
	}
	return b, c.recordCalls(s)
}

// passEvents calls the event handlers for versions that were handled before, and sends only the patch of the handlers.
func (c *cycle) passEvents(ctx context.Context) (*queue.Next, error) {
	if !c.memory.Flags.Paused.Load() {
		if err := c.callEventHandlers(ctx); err != nil {
			return nil, err
		}
	}
	if !c.writes.Handlers.Empty() {
		if err := c.apply(ctx); err != nil {
			return nil, err
		}
	}
	return c.memory.Remaining(c.deps.Now()), nil
}

// holdChanges ends a cycle without calling change handlers, because the outcomes of an earlier cycle are still unwritten,
// or because writing them has just made a newer version. It still starts and stops daemons, and sends or keeps the patch of
// the event handlers. The error unwritten is from the write of the earlier outcomes; nil if the write succeeded.
func (p *Processor) holdChanges(ctx context.Context, c *cycle, unwritten error) (*queue.Next, error) {
	if c.needsPlan() {
		s := c.situation()
		if err := c.detect(ctx, s); err != nil {
			return nil, err
		}
		c.plan.Hold = plan.HoldUnwritten
		c.endRetry(s.Requested)
		p.followDaemons(c)
	}
	held := c.memory.Outbox.Held
	if held == nil {
		return nil, errors.Join(c.apply(ctx), unwritten) // also if the earlier outcomes were discarded, so that the object is handled again
	}
	if discarded := c.memory.Outbox.Put(outbox.Writes{Handlers: c.writes.Handlers.Take()}); discarded > 0 {
		c.unpostedSubject().Logger.Error(fmt.Sprintf("Discarding %d transformations by event handlers: the API server accepts no patch, and %d are kept",
			discarded, len(held.Handlers.Fns())), observe.EventKey, observe.LogPatchFailed)
	}
	return nil, unwritten
}

// notePause reports whether the object's annotation pauses its handling, and logs the start and the end of the pause. A
// deleted object is never paused, because its finalizer must be removed.
func (c *cycle) notePause() bool {
	reason, paused := state.Paused(c.view.Tree)
	paused = paused && !c.deleted() && !c.object.Deleting
	before := c.memory.Flags.Paused.Swap(paused)
	switch {
	case paused && !before:
		c.unpostedSubject().Logger.Info("Handling of the object is paused by its annotation "+state.PausedAnnotation+".",
			observe.EventKey, observe.LogObjectPaused, "reason", reason)
	case !paused && before:
		c.memory.Life.States, c.memory.Life.Shared = memory.LastHandledWatch{}, true
		c.memory.Outbox.DropStarts()
		c.unpostedSubject().Logger.Info("Handling of the object is resumed.", observe.EventKey, observe.LogObjectResumed)
	}
	if paused {
		c.report(observe.Planned{Paused: true, Reason: reason})
	}
	return paused
}

// leaveAlone stops the daemons and timers of a paused object. The changes of the object are handled when the annotation
// is removed. It returns the times until stopping daemons must be checked.
func (p *Processor) leaveAlone(c *cycle) (stopping []time.Duration) {
	if group := c.memory.Group.Load(); group != nil {
		group.Update(c.object, 0)
		stopping = group.Stop(daemons.OperatorPausing)
		p.detached.EmitStopping(c.memory.Identity, group)
	}
	c.memory.TakeRetry(c.memory.Retry.Load()) // handlers of a paused object are not retried
	return stopping
}
