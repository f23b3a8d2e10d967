package engine

import (
	"context"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// processor handles objects, each in cycles of its own. It is safe for concurrent use.
type processor struct {
	deps      *deps
	invoker   *invoker
	memories  *memories
	resources indexedResources
	daemons   *daemonRunner
	detached  *detachedDaemons
}

// indexedResources are the served resources with their indexers.
type indexedResources interface {
	servedResources

	// indexer returns what indexes the objects of a namespace; nil if nothing does.
	indexer(resource, namespace string) *indexer
}

func newProcessor(d *deps, m *memories, detached *detachedDaemons, i *invoker, resources indexedResources) *processor {
	return &processor{
		deps: d, invoker: i, memories: m, resources: resources, detached: detached,
		daemons: &daemonRunner{deps: d, invoker: i, memories: m, detached: detached, resources: resources},
	}
}

// process handles one object. It is the processor of the queue.
func (p *processor) process(ctx context.Context, batch *queue.Batch) *queue.Next {
	served, newest := p.resources.served(batch.Key.Resource), batch.Newest
	ctx, end := p.deps.running.begin(ctx, batch.Key, newest.Object.Namespace)
	defer end()
	if served == nil {
		return nil
	}
	ctx = p.deps.enterTerm(ctx, served, newest.Object)
	if fence.MayBegin(ctx) != nil {
		return nil // nothing is lost: whatever permits the operator to act again lists all objects
	}
	if p.deps.graves.isLate(batch.Key, newest, batch.Listed, batch.Complete) {
		p.deps.dropLate(newest.Object)
		return nil
	}
	m := p.memories.recall(batch.Key, newest.Object.Namespace, batch.Listed, p.deps.newMemo)
	m.enterTerm(p.memories.term.Load(), newest.Object)
	m.ledger.listed(newest.Object, batch.Complete)
	if newest.Type == watch.Deleted {
		defer p.forget(batch.Key, m)
		if leftSelection(ctx, p.deps, served, newest.Object) {
			p.leave(ctx, served, m, batch)
			return nil
		}
		if p.deps.settings.Selection.Labels == "" || !served.narrowed() { // else it may only have left the selection
			p.deps.graves.bury(batch.Key.Resource, newest.Object.UID, newest.Object.ResourceVersion)
		}
	}
	if next := throttled(m, newest, p.deps.now()); next != nil {
		return next
	}
	obj, news := m.ledger.take(batch, m.retry.Load() != nil || m.outbox.held != nil, p.deps.now())
	switch {
	case news == newsNothing && !served.handlers.Has(handlers.Watching):
		return m.remaining(p.deps.now()) // an echo of the operator's own patch is not even decoded
	case news == newsReread:
		var err error
		if obj, err = p.deps.newestVersion(ctx, served.resource, newest.Object.Namespace, newest.Object.Name, newest.Object.UID); err != nil {
			return m.wakeAfter(&queue.Next{After: rereadDelay}, p.deps.now())
		}
		if obj == nil {
			return nil // an event of the deletion is on its way
		}
		m.ledger.took(obj)
	}
	batch.Newest.Object, batch.Bodiless = obj, false
	c := p.newCycle(served, m, batch)
	c.news, c.answered = news, obj != newest.Object && news == newsNewer
	var index *indexer
	if len(served.indexes) > 0 {
		if index = p.resources.indexer(batch.Key.Resource, obj.Namespace); index != nil {
			defer index.handling(batch.Key.Object)()
		}
	}
	next, err := p.run(ctx, c)
	next = c.endCycle(ctx, next, err)
	if fence.MayBegin(ctx) != nil {
		return nil // who may act does what comes next
	}
	return m.wakeAfter(c.followAnswer(ctx, next, err, index), p.deps.now())
}

// leave stops what is done for an object that does not match the label selector anymore. Handlers of raw events
// get the events before it left the selection.
func (p *processor) leave(ctx context.Context, served *servedResource, m *memory, batch *queue.Batch) {
	p.detached.stop(batch.Key, m, daemons.FiltersMismatch)
	// The last event says DELETED, but the object was not deleted.
	batch.Events = batch.Events[:max(0, len(batch.Events)-1)]
	c := p.newCycle(served, m, batch)
	err := c.callEventHandlers(ctx)
	if err == nil && !c.writes.handlers.Empty() {
		c.logger.Warn("Discarding the patch of handlers of raw events: the object does not match the label selector anymore",
			observe.EventKey, observe.LogPatchFailed)
	}
	c.endCycle(ctx, nil, err)
}

func (p *processor) newCycle(served *servedResource, m *memory, batch *queue.Batch) *cycle {
	c := &cycle{
		deps: p.deps, invoker: p.invoker, served: served, memory: m, batch: batch,
		object: batch.Newest.Object, event: batch.Newest.Type, writes: writes{handlers: patch.NewPatch(), own: patch.NewPatch()},
		began: p.deps.now(),
	}
	c.subject = p.deps.subject(m.identity, served.resource, c.object)
	c.logger = c.subject.Logger
	return c
}

// forget drops the memory of a deleted object.
func (p *processor) forget(key queue.Key, m *memory) {
	p.memories.forget(key)
	m.takeRetry(m.retry.Load())
	observe.Tell(p.deps.sink, observe.ObjectForgotten{Identity: m.identity})
}

// run takes the steps of a cycle. For a paused object, it only writes what earlier cycles could not, and stops
// the daemons. The steps communicate through the cycle:
//
//   - writeHeld writes what earlier cycles could not. It returns false if change handlers must wait
//     until that is written, and be called for the version that it makes; holdChanges then takes the other steps.
//   - detectCause sets c.cause, c.changing and c.hasFinalizer.
//   - addFinalizer and the two removals set c.finalizer. Change handlers wait for the version that has the
//     finalizer, and daemons do not start before it.
//   - startMatchingStopOthers sets c.daemonDelays, and callChangeHandlers sets c.handlerDelays. Both are for
//     [cycle.nextAfter].
//   - callChangeHandlers sets c.writes.finished once the last-handled state is stored: nothing is left to do.
//   - apply sends what all steps have put into the handlers' patch and the operator's own patch.
func (p *processor) run(ctx context.Context, c *cycle) (next *queue.Next, err error) {
	defer recoverPanic(&err)
	if err := c.decode(ctx); err != nil {
		return nil, err
	}
	defer c.object.DropTree()
	if c.news == newsNothing {
		return c.passEvents(ctx)
	}
	c.endSleep()
	ready, err := c.writeHeld(ctx)
	switch {
	case c.notePause():
		p.daemons.leaveAlone(c)
		if err != nil {
			return nil, err // it is retried
		}
		return c.next(false), nil
	case !ready:
		return p.holdChanges(ctx, c, err)
	}

	if err := c.callEventHandlers(ctx); err != nil {
		return nil, err
	}
	if c.needsCause() {
		if err := c.detectCause(ctx); err != nil {
			return nil, err
		}
		c.addFinalizer()
		p.daemons.startMatchingStopOthers(c)
		c.removeUnneededFinalizer()
		done, err := c.callChangeHandlers(ctx)
		if err != nil {
			return nil, err
		}
		if done {
			c.removeFinalizerAfterDeletion()
		}
	} else {
		c.tellPlan(observe.Planned{})
	}
	if c.event == watch.Deleted {
		return nil, nil // nothing can be patched
	}
	changed, err := c.apply(ctx)
	c.endRetry() // the handlers were called, whether or not their patch was accepted
	if err != nil {
		return nil, err
	}
	return c.nextAfter(changed), nil
}

// passEvents calls the event handlers for versions that are handled already, and sends only their patch.
func (c *cycle) passEvents(ctx context.Context) (*queue.Next, error) {
	if !c.memory.paused.Load() {
		if err := c.callEventHandlers(ctx); err != nil {
			return nil, err
		}
	}
	if !c.writes.handlers.Empty() {
		if _, err := c.apply(ctx); err != nil {
			return nil, err
		}
	}
	return c.memory.remaining(c.deps.now()), nil
}

// holdChanges takes the steps of a cycle but for the handlers of changes and the finalizer. The error
// is that of what could not be written.
func (p *processor) holdChanges(ctx context.Context, c *cycle, unwritten error) (*queue.Next, error) {
	if err := c.callEventHandlers(ctx); err != nil {
		return nil, err
	}
	if c.needsCause() {
		if err := c.detectCause(ctx); err != nil {
			return nil, err
		}
		c.changing = false
		c.memory.hasFinalizer.Store(c.hasFinalizer)
		p.daemons.startMatchingStopOthers(c)
	}
	if held := c.memory.outbox.held; held != nil {
		if discarded := c.memory.outbox.put(writes{handlers: c.writes.handlers.Take()}); discarded > 0 {
			c.unpostedSubject().Logger.Error(fmt.Sprintf("Discarding %d transformations by handlers of raw events: the API server accepts no patch, and %d are kept",
				discarded, len(held.handlers.Fns())), observe.EventKey, observe.LogPatchFailed)
		}
		return nil, unwritten
	}
	if _, err := c.apply(ctx); err != nil {
		return nil, err
	}
	return c.next(true), nil
}
