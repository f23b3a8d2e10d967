package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// cycle handles one object once: from the newest event to the patch with the outcome. It is
// used by one goroutine.
type cycle struct {
	deps    *deps
	invoker *invoker
	served  *servedResource
	memory  *memory
	batch   *queue.Batch
	subject *observe.Subject
	logger  *slog.Logger // of the subject

	object *object.Object // the newest version
	event  string         // type of its event
	news   news           // the use of the event
	tree   map[string]any // of the object
	stored map[string]any // the tree with what the operator has not been able to write yet, and without broken annotations
	began  time.Time      // of the cycle

	progress state.ProgressStorage // bound to this cycle
	diffbase state.DiffBaseStorage // bound to this cycle
	bind     func(*object.Object)  // binds them to another view of the object
	broken   []*state.BrokenMark   // what cannot be read on the object; stored is without it

	cause        *handlers.Cause // nil before it is detected
	changing     bool            // handlers of changes are interested in the object
	hasFinalizer bool            // the object has the operator's finalizer
	finalizer    finalizerChange
	failures     []state.Failure // permanent ones that are recorded on the object
	again        *again          // failed handlers that are called again; nil if none are
	requested    *retryRequest   // that handlers be called when the cause was detected; nil if nobody asked for it
	retry        *retryRequest   // that, if the handlers of the cause can be called; else nil
	retryLeft    bool            // the lifecycle has not chosen all handlers of the request yet
	slot         slot            // of the handlers that run

	subRecords map[string]state.Record // of the sub-handlers whose parents were called

	writes   writes         // the changes by handlers, and the operator's own: progress, last-handled state, finalizer
	done     []string       // ids of those that are done, for this cause
	behind   bool           // the last-handled state is an earlier one: an update follows
	patched  *object.Object // the version that the patch made; nil if it made none
	recorded bool           // nothing was left to do for an earlier cause, which is recorded by now
	gone     bool           // the object was deleted meanwhile
	answered bool           // the object is the answer to the operator's own patch, which no event has brought

	handlerDelays []time.Duration // until delayed handlers are due
	daemonDelays  []time.Duration // until daemons that are stopping must be checked
}

// finalizerChange is what a cycle does about the finalizer.
type finalizerChange int

const (
	finalizerUnchanged finalizerChange = iota
	finalizerAdded
	finalizerRemoved
)

// decode makes the tree of the object, and binds the storages to it.
func (c *cycle) decode(ctx context.Context) (err error) {
	if c.tree, err = c.object.Tree(); err != nil {
		return fmt.Errorf("decode the object: %w", err)
	}
	c.stored = c.memory.outbox.overlay(c.tree)
	bound := c.object
	if !c.memory.outbox.empty() {
		bound = nil // only the tree has the unwritten changes
	}
	c.bind = func(object *object.Object) {
		c.progress = bindProgress(ctx, c.deps.settings.Progress, object)
		c.diffbase = bindDiffBase(ctx, c.deps.settings.DiffBase, object)
	}
	c.bind(bound)
	return nil
}

// unpostedSubject returns the subject with a logger whose lines are not posted as Kubernetes events.
func (c *cycle) unpostedSubject() *observe.Subject {
	if !c.deps.settings.Posting.Loggers {
		return c.subject
	}
	subject := *c.subject
	subject.Logger = c.deps.objectLogger(c.served.resource, c.object)
	return &subject
}

// newAttempt prepares an attempt at a handler of the object. The subject is that of the cycle, or the
// unposted one.
func (c *cycle) newAttempt(subject *observe.Subject, h *handlers.Handler, cause *handlers.Cause) *attempt {
	return &attempt{
		subject: subject,
		call: &handlers.Call{
			Cause: cause, Handler: h, Patch: c.writes.handlers, Memo: c.memory.memo,
			Logger: subject.Logger.With(observe.HandlerKey, h.ID), Recorder: subject.Recorder,
		},
		backoff: c.deps.settings.DefaultBackoff, slot: &c.slot,
	}
}

// essenceOf returns the essence of a version of the object, without what the operator itself records and what
// the settings ignore.
func (c *cycle) essenceOf(tree map[string]any) map[string]any {
	essence := c.progress.Clear(c.deps.failures.Clear(c.diffbase.Essence(tree, c.served.extraFields)))
	return state.WithoutMetadata(state.WithoutPaused(essence), c.deps.settings.Selection.IgnoredMetadata)
}

// key identifies the object.
func (c *cycle) key() queue.Key { return queue.KeyOf(c.served.resource.Key(), c.object) }

// treeOrNil returns an untyped nil for an absent tree.
func treeOrNil(tree map[string]any) any {
	if tree == nil {
		return nil
	}
	return tree
}
