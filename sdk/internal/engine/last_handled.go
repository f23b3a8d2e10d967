package engine

import "fmt"

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
		old = c.progress.Clear(old)
	}
	return old, nil
}

// storeLastHandled records the essence that the handlers have seen as the last-handled state.
func (c *cycle) storeLastHandled() error {
	if c.again != nil {
		c.finished, c.memory.handled = true, nil // it was stored when the handlers failed
		return nil
	}
	raw, essence, err := c.lastHandledState()
	if err != nil {
		return err
	}
	if c.behind || essence != nil && len(c.cause.Diff) > 0 || c.cause.Old == nil {
		return c.recordHandled(raw, essence)
	}
	c.finished, c.memory.handled = true, nil
	return nil
}

// recordHandled records a state as the last-handled one.
func (c *cycle) recordHandled(raw []byte, essence map[string]any) error {
	if err := c.diffbase.Store(c.stored, raw, essence, c.served.extraFields, c.ownPatch); err != nil {
		return fmt.Errorf("record the last-handled state: %w", err)
	}
	c.finished, c.memory.handled = true, nil
	return nil
}
