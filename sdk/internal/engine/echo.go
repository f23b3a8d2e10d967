package engine

import (
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Whatever the operator writes comes back to it as an event. When all is done with an object,
// that event is the last of it, and tells nothing new: it need not be decoded, nor compared with
// what was last handled. For that, the version that the patch has made is compared with the one
// that was handled, as texts, when the server returns it. What somebody else has changed in
// between is a difference, and what is changed later is another version: both are handled as ever.

// expectEcho remembers the version that the cycle has made if there will be nothing to do for it.
func (c *cycle) expectEcho(later *queue.Later) {
	switch {
	case c.handlers.Has(handlers.Watching), c.handlers.Has(handlers.Spawning), bindsDiffBase(c.settings.DiffBase):
		return // they see each version; a storage of the user's may look at all of it
	case c.made == nil, later != nil, c.event == watch.Deleted, c.object.Deleting,
		len(c.memory.untransformed) > 0, len(c.memory.unwritten) > 0,
		len(c.extraFields) > 0, !c.handlers.NeedsEssence(handlers.Changing):
		return
	}
	written := annotationsOf(c.marks)
	same := c.object.SameBut(c.made, func(key string) bool {
		_, ours := written[key]
		return ours
	})
	if same {
		c.memory.settled = c.made.ResourceVersion
	}
}

// isEcho tells whether there is nothing but the version that was expected.
func (c *cycle) isEcho(batch *queue.Batch) bool {
	expected := c.memory.settled
	c.memory.settled = ""
	if expected == "" || expected != c.object.ResourceVersion || len(batch.Events) == 0 || c.event != watch.Modified {
		return false
	}
	c.memory.hurry.Store(false) // there is nothing to be hurried
	c.logger.Debug("Something has changed, but we are not interested (the essence is the same).")
	c.report.echoed(c.object.ResourceVersion)
	c.logger.Debug("Handling cycle is finished, waiting for new changes.")
	return true
}

// echoed tells that a version is as good as the one before.
func (r *report) echoed(version string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.object.ResourceVersion, r.object.Waiting = version, nil
	r.publish()
}
