package engine

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// purge removes the records of a cause that is finished.
func (c *cycle) purge(progress state.Progress) error {
	if err := progress.Purge(c.stored, c.progress, c.served.changing, c.writes.own); err != nil {
		return fmt.Errorf("purge the progress: %w", err)
	}
	c.memory.unfinished = false
	return nil
}
