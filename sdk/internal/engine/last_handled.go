package engine

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// readLastHandled returns the essence of the object when it was last handled; nil if it never was.
func (c *cycle) readLastHandled() (old map[string]any, err error) {
	err = c.readMarks(func() error {
		old, err = c.diffbase.Fetch(c.stored)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the last-handled state: %w", err)
	}
	if old != nil {
		old = state.WithoutMetadata(state.WithoutPaused(c.progress.Clear(old)), c.deps.settings.Selection.IgnoredMetadata)
	}
	return old, nil
}

// storeLastHandled records the essence that the handlers have seen as the last-handled state.
func (c *cycle) storeLastHandled() error {
	if c.again != nil {
		c.writes.finished, c.memory.handled = true, nil // it was stored when the handlers failed
		return nil
	}
	raw, essence, err := c.lastHandledState()
	if err != nil {
		return err
	}
	if c.behind || essence != nil && len(c.cause.Diff) > 0 || c.cause.Old == nil {
		return c.recordHandled(raw, essence)
	}
	c.writes.finished, c.memory.handled = true, nil
	return nil
}
