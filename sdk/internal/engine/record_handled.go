package engine

import "fmt"

// recordHandled records a state as the last-handled one.
func (c *cycle) recordHandled(raw []byte, essence map[string]any) error {
	if err := c.diffbase.Store(c.stored, raw, essence, c.served.extraFields, c.writes.own); err != nil {
		return fmt.Errorf("record the last-handled state: %w", err)
	}
	c.writes.finished, c.memory.handled = true, nil
	return nil
}
