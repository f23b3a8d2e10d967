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
	c.news = news
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
		c.subject.Logger.Warn("Discarding the patch of handlers of raw events: the object does not match the label selector anymore",
			observe.EventKey, observe.LogPatchFailed)
	}
	c.endCycle(ctx, nil, err)
}

func (p *processor) newCycle(served *servedResource, m *memory, batch *queue.Batch) *cycle {
	return &cycle{
		deps: p.deps, invoker: p.invoker, served: served, memory: m, batch: batch, object: batch.Newest.Object,
		subject: p.deps.subject(m.identity, served.resource, batch.Newest.Object), began: p.deps.now(),
		writes: writes{handlers: patch.NewPatch(), own: patch.NewPatch()},
	}
}

// forget drops the memory of a deleted object.
func (p *processor) forget(key queue.Key, m *memory) {
	p.memories.forget(key)
	m.takeRetry(m.retry.Load())
	observe.Tell(p.deps.sink, observe.ObjectForgotten{Identity: m.identity})
}

// run takes the steps of a cycle. For a paused object, it only writes what earlier cycles could not, and stops the daemons.
func (p *processor) run(ctx context.Context, c *cycle) (next *queue.Next, err error) {
	defer recoverPanic(&err)
	if err := c.look(ctx); err != nil {
		return nil, err
	}
	defer c.object.DropTree()
	if c.news == newsNothing {
		return c.passEvents(ctx)
	}
	c.endSleep()
	ready, unwritten := c.writeHeld(ctx)
	if c.notePause() {
		stopping := p.daemons.leaveAlone(c)
		if unwritten != nil {
			return nil, unwritten // it is retried
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
	if c.needsPlan() {
		if err := p.handleChanges(ctx, c, s); err != nil {
			return nil, err
		}
	} else {
		c.report(observe.Planned{})
	}
	if c.deleted() {
		return nil, nil // nothing can be patched
	}
	err = c.apply(ctx)
	c.endRetry(s.requested) // the handlers were called, whether or not their patch was accepted
	if err != nil {
		return nil, err
	}
	return c.next(s.stopping), nil
}

// handleChanges plans what to do about the changes of the object, does it, and records the outcome in the patches of the cycle.
func (p *processor) handleChanges(ctx context.Context, c *cycle, s *situation) error {
	if err := c.detect(ctx, s); err != nil {
		return err
	}
	if c.plan.finalizer == finalizerAdded {
		c.subject.Logger.Debug("Adding the finalizer, thus preventing the actual deletion.", observe.EventKey, observe.LogFinalizerAdded)
	}
	s.stopping = p.daemons.follow(c)
	if err := c.decide(s); err != nil {
		return err
	}
	if err := c.callPlanned(ctx, s.requested); err != nil {
		return err
	}
	return c.recordCalls(s)
}

// passEvents calls the event handlers for versions that are handled already, and sends only their patch.
func (c *cycle) passEvents(ctx context.Context) (*queue.Next, error) {
	if !c.memory.flags.paused.Load() {
		if err := c.callEventHandlers(ctx); err != nil {
			return nil, err
		}
	}
	if !c.writes.handlers.Empty() {
		if err := c.apply(ctx); err != nil {
			return nil, err
		}
	}
	return c.memory.remaining(c.deps.now()), nil
}

// holdChanges takes the steps of a cycle that may call no change handlers, since the outcomes of an earlier one are not written,
// or have made a newer version. The error is that of the writing.
func (p *processor) holdChanges(ctx context.Context, c *cycle, unwritten error) (*queue.Next, error) {
	if c.needsPlan() {
		if err := c.detect(ctx, c.situation()); err != nil {
			return nil, err
		}
		c.plan.hold = holdUnwritten
		p.daemons.follow(c)
	}
	held := c.memory.outbox.held
	if held == nil {
		return nil, c.apply(ctx)
	}
	if discarded := c.memory.outbox.put(writes{handlers: c.writes.handlers.Take()}); discarded > 0 {
		c.unpostedSubject().Logger.Error(fmt.Sprintf("Discarding %d transformations by handlers of raw events: the API server accepts no patch, and %d are kept",
			discarded, len(held.handlers.Fns())), observe.EventKey, observe.LogPatchFailed)
	}
	return nil, unwritten
}
