package engine

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// A handler that is done may be followed by others that are retried. If the object changes meanwhile, the
// handler has not seen the change, and nobody would tell it: it is done for this cause, and the changed
// state would become the last-handled one. So the operator remembers what each handler has seen. If a
// change would interest a handler that has not seen it, the state of the first handler that was done
// becomes the last-handled one: an update follows. The same holds if the object changes back to its
// last-handled state: then there is no cause, or one that has nothing to do with the change.

// rememberHandled remembers what the handlers have seen that were done in this cycle, unless these are
// all.
func (c *cycle) rememberHandled(allDone bool) {
	states := c.memory.handled
	if len(c.done) == 0 || allDone && states == nil {
		return
	}
	if states == nil {
		states = &handledStates{first: c.object.Detached(), hashes: map[string]uint64{}}
		c.memory.handled = states
	}
	hash := hashEssence(c.cause.New)
	for _, id := range c.done {
		states.hashes[id] = hash
	}
}

// lastHandledState returns the version of the object and the essence to be recorded as last handled.
func (c *cycle) lastHandledState() (raw []byte, essence map[string]any, err error) {
	states := c.memory.handled
	raw, essence = c.object.Raw, c.cause.New
	if states == nil || c.cause.Deleted || !states.differFrom(hashEssence(essence)) {
		return raw, essence, nil
	}
	tree, err := states.first.Tree()
	if err != nil {
		return nil, nil, fmt.Errorf("decode the version that was handled first: %w", err)
	}
	first := c.essenceOf(tree)
	update := *c.cause
	update.Reason, update.Initial, update.Old = handlers.ReasonUpdate, false, first
	update.Diff = object.ComputeDiff(first, essence)
	if len(update.Diff) == 0 {
		return raw, essence, nil
	}
	for _, h := range c.served.handlers.Selected(handlers.Changing, &update) {
		if states.hasNotSeen(h.ID, hashEssence(essence)) {
			c.behind = true
			return states.first.Raw, first, nil
		}
	}
	return raw, essence, nil
}

// endUndone ends a cause that is not finished if the object is at its last-handled state again: the change
// was undone, or the cause was of an old version, and the change is handled. Its records must not count for
// the next cause: those of a former process too, which had an old view of the object. If a handler was done for
// another state, an update follows.
func (c *cycle) endUndone() error {
	ongoing := c.memory.unfinished || c.memory.handled != nil
	if c.cause.Reason != handlers.ReasonNoop || !ongoing && !state.HasRecords(c.stored, c.progress) {
		return nil
	}
	raw, essence, err := c.lastHandledState()
	if err != nil {
		return err
	}
	progress, err := c.progressOf(c.served.changing)
	if err != nil {
		return fmt.Errorf("read the progress: %w", err)
	}
	if !ongoing && len(progress.Handlers()) == 0 {
		return nil // the records are of other operators
	}
	if err := c.purge(progress); err != nil {
		return err
	}
	if c.behind {
		return c.recordHandled(raw, essence)
	}
	c.writes.finished, c.memory.handled = true, nil
	return nil
}
