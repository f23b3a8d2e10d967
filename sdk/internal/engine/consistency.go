package engine

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// longWait is how long a wait must take to be logged. Most waits take milliseconds.
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
	c.batch.Yield()
	began := c.deps.now()
	tell := func(phase observe.ConsistencyPhase, prolonged bool) {
		now := c.deps.now()
		observe.Tell(c.deps.sink, observe.ConsistencyChanged{
			Subject: c.subject, Phase: phase, Wrote: c.memory.ownVersion, Limit: c.deps.settings.ConsistencyTimeout,
			Deadline: deadline, Left: deadline.Sub(now), Waited: now.Sub(began), Prolonged: prolonged,
			Adopted: phase == observe.WaitExpired && c.ownWriteIsNewer(),
		})
	}
	tell(observe.WaitStarted, false)
	limit := deadline.Sub(began)
	timer := time.NewTimer(min(longWait, limit))
	defer timer.Stop()
	prolonged := false
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-c.deps.stopping:
			return false, nil // the next operator decides
		case <-c.batch.Pressure():
			tell(observe.WaitOvertaken, prolonged)
			return false, nil
		case <-timer.C:
			if !prolonged && longWait < limit {
				prolonged = true
				timer.Reset(limit - longWait)
				tell(observe.WaitProlonged, prolonged)
				continue
			}
			tell(observe.WaitExpired, prolonged)
			c.memory.ownVersion = ""
			return true, nil
		}
	}
}

// ownWriteIsNewer reports whether the version that the operator's last patch made is newer than the one
// that was seen.
func (c *cycle) ownWriteIsNewer() bool {
	own := c.memory.ownWrite
	return own != nil && c.event != watch.Deleted && object.Precedes(c.object.ResourceVersion, own.ResourceVersion)
}

// adoptOwnWrite goes on with the version that the operator's last patch made if the stream did not bring
// it in time: versions only go forward. It reports whether it did.
func (c *cycle) adoptOwnWrite() bool {
	if !c.ownWriteIsNewer() {
		return false
	}
	c.object.DropTree()
	c.object = c.memory.ownWrite
	subject := *c.subject
	subject.Object = c.object
	c.subject = &subject
	return true
}

// isStale reports whether handlers of changes must not see this version: the operator's last patch
// is to be seen first, or the finalizer was removed by it.
func (c *cycle) isStale() bool {
	_, stale := c.memory.staleUntil(c.object, c.deps.now())
	return c.event != watch.Deleted && (stale || c.finalizer == finalizerStale)
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
	case c.patched == nil, c.behind, next != nil, c.event == watch.Deleted, c.object.Deleting,
		c.memory.unrecorded != nil, len(c.memory.annotations.unwritten) > 0,
		len(c.served.extraFields) > 0, !set.NeedsEssence(handlers.Changing):
		return
	}
	written := annotationsOf(c.ownPatch)
	same := c.object.SameBut(c.patched, func(key string) bool {
		_, own := written[key]
		return own
	})
	if same {
		c.memory.echoVersion = c.patched.ResourceVersion
	}
}

// precedesEcho reports whether the only new event is older than the expected echo, as that of the operator's first
// patch is if a second one follows it. Nothing is left to do for the version of the echo, so there is no need to
// wait for it.
func (m *memory) precedesEcho(batch *queue.Batch, now time.Time) bool {
	newest := batch.Newest
	if m.echoVersion == "" || newest.Type != watch.Modified || len(batch.Events) == 0 || batch.Listed || m.retry.Load() != nil {
		return false
	}
	_, stale := m.staleUntil(newest.Object, now)
	return stale && object.Precedes(newest.Object.ResourceVersion, m.echoVersion)
}

// skipsEcho reports whether the only new event is the expected echo, which is then expected no longer.
func (c *cycle) skipsEcho() bool {
	expected := c.memory.echoVersion
	c.memory.echoVersion = ""
	if expected == "" || expected != c.object.ResourceVersion || len(c.batch.Events) == 0 || c.event != watch.Modified {
		return false
	}
	if c.memory.failed.Load() != nil && c.memory.retry.Load() != nil {
		return false
	}
	c.endLoop()
	c.memory.takeRetry(c.memory.retry.Load()) // no handler waits for a retry
	observe.Tell(c.deps.sink, observe.ConsistencyChanged{Subject: c.subject, Phase: observe.OwnWriteReturned, Wrote: expected})
	return true
}
