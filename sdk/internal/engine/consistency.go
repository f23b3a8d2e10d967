package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// longWait is after which time a wait for the operator's own write is logged. Most waits take
// milliseconds.
const longWait = 200 * time.Millisecond

// awaitOwnWrite blocks until the operator's last patch of the object is seen, so that handlers are
// not selected by a stale state. It returns true if the object is up to date, or if the patch was
// not seen within the consistency timeout. It returns false if a newer version arrived: the next
// cycle handles it.
func (c *cycle) awaitOwnWrite(ctx context.Context) (fresh bool, err error) {
	deadline, stale := c.memory.staleUntil(c.object, c.deps.now())
	if !stale || c.event == watch.Deleted {
		return true, nil
	}
	c.report.waiting(c.memory.ownVersion, c.object.ResourceVersion, deadline)
	c.batch.Yield()
	began := c.deps.now()
	long := time.NewTimer(longWait)
	defer long.Stop()
	end := time.NewTimer(deadline.Sub(began))
	defer end.Stop()
	logged := false
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-c.deps.stopping:
			return false, nil // the next operator decides
		case <-c.batch.Pressure():
			if logged {
				c.logger.Debug(fmt.Sprintf("A newer version than %s has come after %s.", c.object.ResourceVersion, c.deps.now().Sub(began)))
			}
			c.deps.meters.waited(true, c.deps.now().Sub(began))
			return false, nil
		case <-long.C:
			logged = true
			c.logger.Debug(fmt.Sprintf("Waiting for version %s, which the operator has written: only %s is seen so far. Handling goes on in %s at the latest.",
				c.memory.ownVersion, c.object.ResourceVersion, deadline.Sub(c.deps.now())))
		case <-end.C:
			c.logger.Warn(fmt.Sprintf("Handling goes on with version %s although the operator has written %s: it was not seen within %s.",
				c.object.ResourceVersion, c.memory.ownVersion, c.deps.settings.ConsistencyTimeout))
			c.memory.ownVersion = ""
			c.deps.meters.waited(false, c.deps.now().Sub(began))
			c.report.consistent()
			return true, nil
		}
	}
}

// Whatever the operator writes comes back to it as an event: the echo. When all is done with an
// object, its echo is skipped without being decoded or compared with the last-handled state. For
// that, the version that the patch made is compared with the handled one, as texts. If anybody else
// changed the object in between, or changes it later, the event is handled as usual.

// expectEcho remembers the version that the cycle made if nothing is left to do for it.
func (c *cycle) expectEcho(next *queue.Next) {
	set := c.served.handlers
	switch {
	case set.Has(handlers.Watching), set.Has(handlers.Spawning), bindsDiffBase(c.deps.settings.DiffBase):
		return // they need each version; a user's storage may look at all of it
	case c.patched == nil, next != nil, c.event == watch.Deleted, c.object.Deleting,
		len(c.memory.transforms) > 0, len(c.memory.annotations.unwritten) > 0,
		len(c.served.extraFields) > 0, !set.NeedsEssence(handlers.Changing):
		return
	}
	written := annotationsOf(c.own)
	same := c.object.SameBut(c.patched, func(key string) bool {
		_, own := written[key]
		return own
	})
	if same {
		c.memory.echoVersion = c.patched.ResourceVersion
	}
}

// isEcho reports whether the only new event is the expected echo.
func (c *cycle) isEcho() bool {
	expected := c.memory.echoVersion
	c.memory.echoVersion = ""
	if expected == "" || expected != c.object.ResourceVersion || len(c.batch.Events) == 0 || c.event != watch.Modified {
		return false
	}
	c.memory.retryNow.Store(false) // no handler waits for a retry
	c.logger.Debug("Something has changed, but we are not interested (the essence is the same).")
	c.report.echoed(c.object.ResourceVersion)
	c.logger.Debug("Handling cycle is finished, waiting for new changes.")
	return true
}
