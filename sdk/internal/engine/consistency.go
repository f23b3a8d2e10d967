package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// noticeable is how long a wait must be for a word in the log: most take milliseconds.
const noticeable = 200 * time.Millisecond

// await waits for the version that the operator itself has written, so that handlers
// are not chosen by a state that is known to be old. It is false if a newer version has
// come: that one is to be handled.
func (c *cycle) await(ctx context.Context, batch *queue.Batch) (bool, error) {
	deadline, waiting := c.memory.outdated(c.object, c.now())
	if !waiting || c.event == watch.Deleted {
		return true, nil
	}
	c.report.waiting(c.memory.wrote, c.object.ResourceVersion, deadline)
	batch.Yield()
	began := c.now()
	long := time.NewTimer(noticeable)
	defer long.Stop()
	end := time.NewTimer(deadline.Sub(began))
	defer end.Stop()
	noticed := false
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-c.stopping:
			return false, nil // the next operator decides
		case <-batch.Pressure():
			if noticed {
				c.logger.Debug(fmt.Sprintf("A newer version than %s has come after %s.", c.object.ResourceVersion, c.now().Sub(began)))
			}
			c.meters.waited(true, c.now().Sub(began))
			return false, nil
		case <-long.C:
			noticed = true
			c.logger.Debug(fmt.Sprintf("Waiting for version %s, which the operator has written: only %s is seen so far. Handling goes on in %s at the latest.",
				c.memory.wrote, c.object.ResourceVersion, deadline.Sub(c.now())))
		case <-end.C:
			c.logger.Warn(fmt.Sprintf("Handling goes on with version %s although the operator has written %s: it was not seen within %s.",
				c.object.ResourceVersion, c.memory.wrote, c.settings.ConsistencyTimeout))
			c.memory.wrote = ""
			c.meters.waited(false, c.now().Sub(began))
			c.report.consistent()
			return true, nil
		}
	}
}
