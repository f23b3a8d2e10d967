package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// cycle is one round of handling of one object: from the newest event to the patch.
type cycle struct {
	*server

	memory   *memory
	object   *object.Object
	tree     map[string]any
	event    string // its type
	logger   *slog.Logger
	report   *report
	recorder *Recorder    // of events about the object; nil if nothing is to be posted
	patch    *patch.Patch // what handlers have changed; in the end with the marks

	marks    *patch.Patch          // what the operator writes about its own work
	seen     map[string]any        // the tree as the storages see it
	progress state.ProgressStorage // for this cycle, as the next
	diffbase state.DiffBaseStorage

	cause     *handlers.Cause // of state-tracking handlers; always set
	changing  bool            // the cause is of interest to them
	hurry     bool            // delayed handlers are due now
	finished  bool            // nothing is left to do about the cause
	postponed bool            // the transformations could not be applied, as the object has changed
	release   bool            // the finalizer is being removed
	made      *object.Object  // the version that the patch has made; nil if there was none
	inside    bool            // a handler runs

	recheck []time.Duration // when to look again after daemons that take their time to end
}

// run handles an object: the events that have come since the last time, and the newest
// state of it.
func (s *server) run(ctx context.Context, memory *memory, batch *queue.Batch) (later *queue.Later, err error) {
	defer survive(&err)
	c := &cycle{server: s, memory: memory, object: batch.Newest.Object, event: batch.Newest.Type, patch: patch.NewPatch()}
	c.logger, c.recorder = s.tellers(c.object)
	c.report = s.reporter.reportOf(memory, s.resource, c.object)

	if !s.handlers.Has(handlers.Watching) && !s.handlers.Has(handlers.Spawning) {
		// Nobody looks at a version that is known to be old: it is not even decoded.
		if consistent, err := c.await(ctx, batch); err != nil || !consistent {
			return nil, err
		}
		if c.isEcho(batch) {
			return nil, nil
		}
	}
	if c.tree, err = c.object.Tree(); err != nil {
		return nil, fmt.Errorf("the object does not decode: %w", err)
	}
	defer c.object.Forget()
	c.bind(ctx)
	for _, transform := range memory.untransformed {
		c.patch.AddFn(transform)
	}

	if left := memory.asleep.Sub(c.now()); left > 0 {
		c.logger.Debug(fmt.Sprintf("Sleeping was interrupted by new changes, %v seconds left.", left.Seconds()))
	}
	memory.asleep = time.Time{}
	if err := c.watch(ctx, batch.Events); err != nil {
		return nil, err
	}
	delays, err := c.change(ctx, batch)
	if err != nil {
		return nil, err
	}
	if c.event == watch.Deleted {
		c.report.gone()
		return nil, nil
	}
	if later, err = c.apply(ctx, batch, delays); err != nil {
		return nil, err
	}
	if c.finished {
		memory.handled = true
		c.expectEcho(later)
	}
	c.report.applied(c.finished, c.now())
	return later, nil
}

// watch calls the handlers of raw events, for each event in its turn.
func (c *cycle) watch(ctx context.Context, events []watch.Event) error {
	if !c.handlers.Has(handlers.Watching) {
		return nil
	}
	for _, event := range events {
		tree, err := event.Object.Tree()
		if err != nil {
			return fmt.Errorf("the object does not decode: %w", err)
		}
		cause := &handlers.Cause{
			Resource: c.resource, Object: event.Object, EventType: event.Type, Tree: tree, Local: &Views{Memo: c.memory.memo},
		}
		c.report.watched(c, cause)
		for _, h := range c.handlers.Selected(handlers.Watching, cause) {
			c.observe(ctx, h, cause)
		}
		if event.Object != c.object {
			event.Object.Forget()
		}
	}
	return nil
}

// change finds out what has happened to the object, and does what is to be done about
// it. It returns the delays until something is to be done next.
func (c *cycle) change(ctx context.Context, batch *queue.Batch) ([]time.Duration, error) {
	spawned := c.memory.group.Load() != nil // by handlers that another definition of the resource had
	if !c.handlers.Has(handlers.Changing) && !c.handlers.Has(handlers.Spawning) && !spawned {
		c.report.observed(c)
		return nil, nil
	}
	if err := c.detect(); err != nil {
		return nil, err
	}
	// An object that no handler is for is left alone: nothing is stored, nothing logged.
	c.changing = c.handlers.Has(handlers.Changing) && c.handlers.Prematch(c.cause)

	deleting := state.Deleting(c.tree)
	blocked := state.HasFinalizer(c.tree, c.settings.Finalizer)
	needed := c.handlers.RequiresFinalizer(c.cause)
	handled := true
	switch {
	case c.event == watch.Deleted:
	case deleting && blocked && c.memory.released:
		// An older version: without its records, as they were purged before the finalizer.
		handled = false
	case needed && !blocked && !deleting:
		c.logger.Debug("Adding the finalizer, thus preventing the actual deletion.")
		state.AddFinalizer(c.marks, c.settings.Finalizer)
		handled = false
	}
	c.memory.held.Store(blocked)
	c.recheck = c.spawn()
	if !needed && blocked && handled && len(c.recheck) == 0 && c.event != watch.Deleted {
		c.logger.Debug("Removing the finalizer, as there are no handlers requiring it.")
		state.RemoveFinalizer(c.marks, c.settings.Finalizer)
		c.release, handled = true, false
	}
	c.report.seen(c, blocked)
	if c.changing {
		c.orphans()
	}
	if !handled {
		c.changing = false
		return nil, nil
	}
	var delays []time.Duration
	// The records of a deletion are purged ahead of the finalizer: once its handlers are
	// done, it is remembered that they are.
	if c.changing && !(c.cause.Reason == handlers.ReasonDelete && c.memory.deleted) {
		if consistent, err := c.await(ctx, batch); err != nil || !consistent {
			c.changing = false
			return nil, err
		}
		var err error
		if delays, err = c.handle(ctx); err != nil {
			return nil, err
		}
	}
	if deleting && blocked && len(delays) == 0 && c.event != watch.Deleted {
		c.memory.deleted = true
		if len(c.recheck) == 0 {
			c.allow()
		}
	}
	return delays, nil
}

// allow lets the object go when all handlers are done with it.
func (c *cycle) allow() {
	c.logger.Debug("Removing the finalizer, thus allowing the actual deletion.")
	state.RemoveFinalizer(c.marks, c.settings.Finalizer)
	c.release = true
}

// detect makes the cause.
func (c *cycle) detect() error {
	old, err := c.diffbase.Fetch(c.seen)
	if err != nil {
		return fmt.Errorf("the state as last handled: %w", err)
	}
	essence := c.diffbase.Essence(c.seen, c.extraFields)
	if old != nil {
		old = c.progress.Clear(old)
	}
	essence = c.progress.Clear(essence)
	changes := object.ComputeDiff(treeOrNil(old), essence)
	evidence := handlers.Evidence{
		EventType: c.event,
		Deleting:  state.Deleting(c.tree),
		Blocked:   state.HasFinalizer(c.tree, c.settings.Finalizer),
		Handled:   old != nil,
		Changed:   len(changes) > 0,
		Initial:   c.memory.listed && !c.memory.handled,
	}
	reason, initial := handlers.Detect(evidence)
	c.cause = &handlers.Cause{
		Resource: c.resource, Object: c.object, EventType: c.event, Tree: c.tree,
		Reason: reason, Initial: initial, Deleted: evidence.Deleting,
		Old: old, New: essence, Diff: changes, Excluded: c.memory.retired(), Local: &Views{Memo: c.memory.memo},
	}
	return nil
}

// treeOrNil keeps an absent tree from becoming a present but empty value.
func treeOrNil(tree map[string]any) any {
	if tree == nil {
		return nil
	}
	return tree
}
