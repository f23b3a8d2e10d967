package engine

import (
	"fmt"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// After a permanent failure, the handler is not called until the object changes. A request to retry
// calls it again, for the cause that it failed for, as far as the failure on the object tells it:
// [state.Failure]. Handlers that have succeeded are not called again.

// readFailures reads the permanent failures that are recorded on the object.
func (c *cycle) readFailures() {
	c.failures = c.deps.failures.Read(c.stored, c.served.changing)
	former := len(c.failures) > 0 && c.memory.failed.Load() == nil && !c.memory.seen
	c.memory.seen = true
	c.noteFailed()
	if former && c.deps.state.retryFormer.Load() {
		c.deps.retries.add(retryJob{key: c.key()})
	}
}

// noteFailed notes whether the object has failures, for requests to retry all of them.
func (c *cycle) noteFailed() {
	switch failed := c.memory.failed.Load(); {
	case len(c.failures) == 0:
		c.memory.failed.Store(nil)
	case failed == nil:
		c.memory.failed.Store(&failedRef{namespace: c.object.Namespace, name: c.object.Name})
	}
}

// planAgain replaces the cause of an unchanged object by the one that its handlers failed for, if they
// are to be called again. Changes and resuming come first.
func (c *cycle) planAgain() {
	if len(c.failures) == 0 {
		return
	}
	c.noteHandledDeletion()
	if !c.isUnchanged() {
		return
	}
	chosen := slices.DeleteFunc(slices.Clone(c.failures), func(f state.Failure) bool { return !f.Again && !c.requested.means(f.Handler) })
	if len(chosen) == 0 {
		return
	}
	purpose := chosen[0].Purpose
	a := &again{}
	for _, f := range chosen {
		if f.Purpose == purpose {
			a.failures = append(a.failures, f)
		} else {
			a.later = append(a.later, f)
		}
	}
	old := c.cause.Old
	switch handlers.Reason(purpose) {
	case handlers.ReasonCreate:
		old = nil
	case handlers.ReasonUpdate:
		a.byID = a.failures[0].Old == nil
		if !a.byID {
			old = a.failures[0].Old
		}
	default:
	}
	cause := *c.cause
	cause.Reason, cause.Initial, cause.Old = handlers.Reason(purpose), true, old
	cause.Diff = object.ComputeDiff(treeOrNil(old), cause.New)
	cause.Views = &handlers.Views{Memo: c.memory.memo}
	c.cause, c.again = &cause, a
}

// noteHandledDeletion replaces the cause of an object whose deletion was handled, and failed: its handlers are
// not called again unless that is requested.
func (c *cycle) noteHandledDeletion() {
	handled := func(f state.Failure) bool { return f.IsDeletionOf(c.object.UID) }
	if c.cause.Reason != handlers.ReasonDelete || !slices.ContainsFunc(c.failures, handled) {
		return
	}
	cause := *c.cause
	cause.Reason = handlers.ReasonNoop
	if cause.Initial {
		cause.Reason = handlers.ReasonResume
	}
	cause.Views = &handlers.Views{Memo: c.memory.memo}
	c.cause = &cause
}

// isUnchanged reports whether nothing is to be done for the object but to call failed handlers again.
func (c *cycle) isUnchanged() bool {
	switch c.cause.Reason {
	case handlers.ReasonNoop:
		return true
	case handlers.ReasonResume:
		return len(c.served.handlers.Selected(handlers.Changing, c.cause)) == 0
	default:
		return false
	}
}

// selectHandlers returns the handlers that are called for the cause.
func (c *cycle) selectHandlers() []*handlers.Handler {
	set := c.served.handlers
	if c.again == nil {
		return set.Selected(handlers.Changing, c.cause)
	}
	var hs []*handlers.Handler
	if c.again.byID {
		for _, h := range set.Handlers(handlers.Changing) {
			same := func(other *handlers.Handler) bool { return other.ID == h.ID }
			if !slices.ContainsFunc(hs, same) {
				hs = append(hs, h)
			}
		}
	} else {
		hs = slices.Clone(set.Selected(handlers.Changing, c.cause))
	}
	return slices.DeleteFunc(hs, func(h *handlers.Handler) bool { return !c.again.has(h.ID) })
}

// finishAgain ends the calls of failed handlers, none of which is for the object anymore.
func (c *cycle) finishAgain() error {
	for _, f := range c.again.failures {
		c.logger.Info("Handler '"+f.Handler+"' is not for this object anymore; forgetting its failure", observe.EventKey, observe.LogFailureForgotten)
	}
	c.writes.finished = true
	return c.recordFailures(state.Progress{}.WithPurpose(string(c.cause.Reason)))
}

// markAgain records that failed handlers are being called again, so that the next operator goes on.
func (c *cycle) markAgain() error {
	if c.again == nil {
		return nil
	}
	for _, f := range slices.Concat(c.again.failures, c.again.later) {
		if f.Again {
			continue
		}
		f.Again = true
		if err := c.deps.failures.Store(c.stored, f, c.writes.own); err != nil {
			return err
		}
	}
	return nil
}

// recordFailures records on the object which handlers have failed when all are done, and removes the
// failures that this makes obsolete: all, if the object was changed; those of the same handlers, if they
// were called again or resumed. A deleted object has failures only if a handler keeps it for them.
func (c *cycle) recordFailures(progress state.Progress) error {
	failed, err := c.failuresOf(progress)
	if err != nil {
		return fmt.Errorf("read the progress of sub-handlers: %w", err)
	}
	has := func(id string) bool {
		return slices.ContainsFunc(failed, func(f state.Failure) bool { return f.Handler == id })
	}
	current := slices.Clone(failed)
	for _, f := range c.failures {
		switch {
		case has(f.Handler):
		case c.isObsolete(&f, progress):
			c.deps.failures.Remove(c.stored, f.Handler, c.writes.own)
		case c.again != nil && slices.ContainsFunc(c.again.later, func(l state.Failure) bool { return l.Handler == f.Handler }):
			f.Again = true
			failed = append(failed, f)
			current = append(current, f)
		default:
			current = append(current, f)
		}
	}
	if c.cause.Reason == handlers.ReasonDelete {
		keeper := c.keeper(current)
		if keeper == nil {
			c.forgetFailures()
			return nil
		}
		c.logger.Warn("Keeping the object: handler '"+keeper.Handler+"' has failed for good; retry it, or remove the finalizer",
			observe.EventKey, observe.LogFinalizerKept)
	}
	for _, f := range failed {
		if err := c.deps.failures.Store(c.stored, f, c.writes.own); err != nil {
			return err
		}
	}
	c.failures = current
	c.noteFailed()
	return nil
}

// isKept reports whether the object keeps the finalizer although its deletion is handled: a handler that must
// succeed has failed for good.
func (c *cycle) isKept() bool { return c.keeper(c.failures) != nil }

// keeper returns the first of the failures for which a deleted object is kept; nil if there is none.
func (c *cycle) keeper(failures []state.Failure) *state.Failure {
	for i := range failures {
		f := &failures[i]
		keeps := func(h *handlers.Handler) bool { return h.ID == f.Top() && h.KeepOnFailure }
		if f.IsDeletionOf(c.object.UID) && c.served.handlers.Any(handlers.Changing, keeps) {
			return f
		}
	}
	return nil
}

// forgetFailures removes the failures from an object that is about to go.
func (c *cycle) forgetFailures() {
	for _, f := range c.failures {
		c.deps.failures.Remove(c.stored, f.Handler, c.writes.own)
	}
	c.failures = nil
	c.noteFailed()
}

// failuresOf returns the handlers and sub-handlers that have failed permanently.
func (c *cycle) failuresOf(progress state.Progress) (failed []state.Failure, err error) {
	err = c.readMarks(func() error {
		failed, err = progress.Failures(c.stored, c.progress, c.subRecords, c.oldForFailures())
		if c.cause.Reason == handlers.ReasonDelete {
			for i := range failed {
				failed[i].UID = c.object.UID
			}
		}
		return err
	})
	return failed, err
}

func (c *cycle) isObsolete(f *state.Failure, progress state.Progress) bool {
	switch {
	case c.again != nil:
		return c.again.has(f.Top()) && !slices.ContainsFunc(c.again.later, func(l state.Failure) bool { return l.Handler == f.Handler })
	case c.cause.Reason == handlers.ReasonResume:
		h, known := progress.Handler(f.Top())
		return known && h.Active
	default:
		return true
	}
}

// oldForFailures returns the essence before the change, as far as the diff base does not have it.
func (c *cycle) oldForFailures() map[string]any {
	if c.cause.Reason != handlers.ReasonUpdate || c.again != nil && c.again.byID {
		return nil
	}
	return c.cause.Old
}

// awaitsRetry reports whether failed handlers are still to be called again, after the cause that the
// cycle has finished.
func (c *cycle) awaitsRetry() bool {
	request := c.memory.retry.Load()
	return slices.ContainsFunc(c.failures, func(f state.Failure) bool { return f.Again || request.means(f.Handler) })
}

// defersRetry reports whether the request to retry must wait until the handlers of resuming are done.
func (c *cycle) defersRetry() bool {
	return c.again == nil && c.cause.Reason == handlers.ReasonResume &&
		slices.ContainsFunc(c.failures, func(f state.Failure) bool { return c.retry.means(f.Handler) })
}

// endRetry ends the request to retry when all of its handlers were called.
func (c *cycle) endRetry() {
	if c.retry != nil && !c.retryLeft && !c.defersRetry() {
		c.memory.takeRetry(c.retry)
	}
}
