package engine

import (
	"context"
	"fmt"

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
	resources servedResources
	daemons   *daemonRunner
}

func newProcessor(d *deps, m *memories, detached *detachedDaemons, i *invoker, resources servedResources) *processor {
	return &processor{
		deps: d, invoker: i, memories: m, resources: resources,
		daemons: &daemonRunner{deps: d, invoker: i, memories: m, detached: detached, resources: resources},
	}
}

// process handles one object. It is the processor of the queue.
func (p *processor) process(ctx context.Context, batch *queue.Batch) *queue.Next {
	served, newest := p.resources.served(batch.Key.Resource), batch.Newest
	if served == nil || p.deps.state.paused.Load() {
		return nil // a paused stream, or a resource that is served again, begins with a listing of all objects
	}
	m := p.memories.recall(batch.Key, newest.Object.Namespace, batch.Listed, p.deps.newMemo)
	m.listedUntil(newest.Object, batch.Complete)
	if newest.Type == watch.Deleted {
		defer p.forget(batch.Key, m)
	}
	if next := throttled(m, newest, p.deps.now()); next != nil {
		return next
	}
	if len(batch.Events) > 0 {
		m.saw(newest.Object)
	} else if m.isOutdated(newest.Object) {
		current, err := newestVersion(ctx, p.deps.client, served.resource, newest.Object.Namespace, newest.Object.Name, newest.Object.UID)
		switch {
		case err != nil:
			return &queue.Next{After: rereadDelay}
		case current == nil:
			return nil // an event tells of its deletion
		}
		batch.Newest.Object = current
	}
	c := p.newCycle(served, m, batch)
	next, err := p.run(ctx, c)
	return c.endCycle(ctx, next, err)
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

// run takes the steps of a cycle. They communicate through the cycle:
//
//   - writeUnrecorded writes what earlier cycles could not. It returns false if no handlers of changes
//     may be called before that is written, and seen; holdChanges takes the other steps.
//   - awaitOwnWrite returns false if a newer version is on its way, which the next cycle handles.
//   - addFinalizer sets c.finalizer. Change handlers wait for the version that has the finalizer, and
//     daemons do not start before it.
//   - startMatchingStopOthers sets c.daemonDelays, and callChangeHandlers c.handlerDelays, for next.
//   - callChangeHandlers sets c.finished once the last-handled state is stored: nothing is left to do.
//   - apply sends what all steps have put into the handlers' patch and the operator's own patch.
func (p *processor) run(ctx context.Context, c *cycle) (next *queue.Next, err error) {
	defer recoverPanic(&err)
	if !c.served.handlers.Has(handlers.Watching) && !c.served.handlers.Has(handlers.Spawning) {
		// Only change handlers: stale versions and echoes of own patches need not even be decoded. Event
		// handlers and daemons see every version; then the wait is a part of callChangeHandlers.
		if fresh, err := c.awaitOwnWrite(ctx); err != nil || !fresh || c.isEcho() {
			return nil, err
		}
		c.adoptOwnWrite()
	}
	if err := c.decode(ctx); err != nil {
		return nil, err
	}
	defer func() { c.object.DropTree() }()
	c.endSleep()
	if ready, err := c.writeUnrecorded(ctx); !ready {
		return p.holdChanges(ctx, c, err)
	}

	if err := c.callEventHandlers(ctx); err != nil {
		return nil, err
	}
	if c.hasCause() {
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
		c.tellCause()
	}
	if c.event == watch.Deleted {
		return nil, nil
	}
	changed, err := c.apply(ctx)
	if err != nil {
		c.endRetry() // the handlers were called
		return nil, err
	}
	next = c.next(changed)
	c.endRetry()
	if c.retryLeft && !changed {
		next = &queue.Next{}
	}
	if c.finished {
		c.memory.resumed = true
		if next == nil && (c.awaitsRetry() || c.behind && !changed) {
			next = &queue.Next{}
		}
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
	if c.hasCause() {
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
