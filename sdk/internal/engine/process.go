package engine

import (
	"context"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
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
	resources servedResources
	daemons   *daemonRunner
	detached  *detachedDaemons
}

func newProcessor(d *deps, m *memories, detached *detachedDaemons, i *invoker, resources servedResources) *processor {
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
	m.listedUntil(newest.Object, batch.Complete)
	m.releaseSeenWrite(newest.Object)
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
	if m.precedesEcho(batch, p.deps.now()) {
		return nil
	}
	if len(batch.Events) > 0 {
		m.saw(newest.Object)
	} else if m.isOutdated(newest.Object) {
		current, next := p.reread(ctx, served, newest.Object)
		if current == nil {
			return next
		}
		batch.Newest.Object = current
	}
	c := p.newCycle(served, m, batch)
	next, err := p.run(ctx, c)
	next = c.endCycle(ctx, next, err)
	if fence.MayBegin(ctx) != nil {
		return nil // who may act does what comes next
	}
	return next
}

// reread reads the newest version of an object. It returns nil, and when to try again, if that fails, or if
// the object does not exist anymore, of which an event is on its way.
func (p *processor) reread(ctx context.Context, served *servedResource, old *object.Object) (*object.Object, *queue.Next) {
	current, err := p.deps.newestVersion(ctx, served.resource, old.Namespace, old.Name, old.UID)
	if err != nil {
		return nil, &queue.Next{After: rereadDelay}
	}
	return current, nil
}

// leave stops what is done for an object that does not match the label selector anymore. Handlers of raw events
// get the events before it left the selection.
func (p *processor) leave(ctx context.Context, served *servedResource, m *memory, batch *queue.Batch) {
	p.detached.stop(batch.Key, m, daemons.FiltersMismatch)
	// The last event says DELETED, but the object was not deleted.
	batch.Events = batch.Events[:max(0, len(batch.Events)-1)]
	c := p.newCycle(served, m, batch)
	err := c.callEventHandlers(ctx)
	if err == nil && !c.patch.Empty() {
		c.logger.Warn("Discarding the patch of handlers of raw events: the object does not match the label selector anymore",
			observe.EventKey, observe.LogPatchFailed)
	}
	c.endCycle(ctx, nil, err)
}

func (p *processor) newCycle(served *servedResource, m *memory, batch *queue.Batch) *cycle {
	c := &cycle{
		deps: p.deps, invoker: p.invoker, served: served, memory: m, batch: batch,
		object: batch.Newest.Object, event: batch.Newest.Type, patch: patch.NewPatch(), ownPatch: patch.NewPatch(),
		began: p.deps.now(),
	}
	c.subject = p.deps.subject(m.identity, served.resource, c.object)
	c.logger = c.subject.Logger
	observe.Tell(p.deps.sink, observe.ProcessingStarted{Subject: c.subject})
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
//   - awaitOwnWrite returns false if a newer version has arrived, which the next cycle handles, or if the
//     operator is stopping. It comes first only for resources without event handlers and daemons.
//   - writeUnrecorded writes what earlier cycles could not. It returns false if change handlers must wait
//     until that is written and its version has arrived; holdChanges then takes the other steps.
//   - detectCause sets c.cause, c.changing and c.hasFinalizer.
//   - addFinalizer and the two removals set c.finalizer. Change handlers wait for the version that has the
//     finalizer, and daemons do not start before it.
//   - startMatchingStopOthers sets c.daemonDelays, and callChangeHandlers sets c.handlerDelays. Both are for
//     [cycle.nextAfter].
//   - callChangeHandlers sets c.finished once the last-handled state is stored: nothing is left to do.
//   - apply sends what all steps have put into the handlers' patch and the operator's own patch.
func (p *processor) run(ctx context.Context, c *cycle) (next *queue.Next, err error) {
	defer recoverPanic(&err)
	if !c.served.handlers.Has(handlers.Watching) && !c.served.handlers.Has(handlers.Spawning) {
		// Only change handlers: stale versions and echoes of own patches need not even be decoded. Event
		// handlers and daemons see every version; then the wait is a part of callChangeHandlers.
		if fresh, err := c.awaitOwnWrite(ctx); err != nil || !fresh || c.skipsEcho() {
			return nil, err
		}
		c.adoptOwnWrite()
	}
	if err := c.decode(ctx); err != nil {
		return nil, err
	}
	defer func() { c.object.DropTree() }() // c.object may be another version by then
	c.endSleep()
	ready, err := c.writeUnrecorded(ctx)
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
		c.tellCause()
		done, err := c.callChangeHandlers(ctx)
		if err != nil {
			return nil, err
		}
		if done {
			c.removeFinalizerAfterDeletion()
		}
	} else {
		c.tellCause() // that no handler needs one
	}
	if c.event == watch.Deleted {
		return nil, nil // nothing can be patched
	}
	changed, err := c.apply(ctx)
	c.endRetry() // the handlers were called, whether or not their patch was accepted
	if err != nil {
		return nil, err
	}
	next = c.nextAfter(changed)
	if c.finished {
		c.memory.resumed = true
		c.expectEcho(next)
	}
	return next, nil
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
	if held := c.memory.unrecorded; held != nil {
		if discarded := held.add(c.patch); discarded > 0 {
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
