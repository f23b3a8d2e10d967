package engine

import (
	"context"

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
		return nil // the object is listed again when it is handled again
	}
	m := p.memories.recall(batch.Key, newest.Object.Namespace, batch.Listed, p.deps.newMemo)
	if newest.Type == watch.Deleted {
		defer p.forget(batch.Key, m)
	}
	if next := throttled(m, newest, p.deps.now()); next != nil {
		return next
	}
	c := p.newCycle(served, m, batch)
	next, err := p.run(ctx, c)
	return c.nextAfter(ctx, next, err)
}

func (p *processor) newCycle(served *servedResource, m *memory, batch *queue.Batch) *cycle {
	c := &cycle{
		deps: p.deps, invoker: p.invoker, served: served, memory: m, batch: batch,
		object: batch.Newest.Object, event: batch.Newest.Type, patch: patch.NewPatch(), ownPatch: patch.NewPatch(),
	}
	c.subject = p.deps.subject(m.identity, served.resource, c.object)
	c.logger = c.subject.Logger
	observe.Tell(p.deps.sink, observe.ProcessingStarted{Subject: c.subject})
	return c
}

// forget drops the memory of a deleted object.
func (p *processor) forget(key queue.Key, m *memory) {
	p.memories.forget(key)
	observe.Tell(p.deps.sink, observe.ObjectForgotten{Identity: m.identity})
}

// run takes the steps of a cycle.
func (p *processor) run(ctx context.Context, c *cycle) (next *queue.Next, err error) {
	defer recoverPanic(&err)
	if !c.served.handlers.Has(handlers.Watching) && !c.served.handlers.Has(handlers.Spawning) {
		// No handler needs stale versions, nor the operator's own: these are not even decoded.
		if fresh, err := c.awaitOwnWrite(ctx); err != nil || !fresh || c.isEcho() {
			return nil, err
		}
	}
	if err := c.decode(ctx); err != nil {
		return nil, err
	}
	defer c.object.Forget()
	c.endSleep()

	if err := c.callEventHandlers(ctx); err != nil {
		return nil, err
	}
	if c.hasCause() {
		if err := c.detectCause(); err != nil {
			return nil, err
		}
		c.addFinalizer()
		p.daemons.adjust(c)
		c.removeUnneededFinalizer()
		c.tellCause()
		handled, err := c.callChangeHandlers(ctx)
		if err != nil {
			return nil, err
		}
		if handled {
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
		return nil, err
	}
	next = c.next(changed)
	if c.finished {
		c.memory.handled = true
		c.expectEcho(next)
	}
	return next, nil
}
