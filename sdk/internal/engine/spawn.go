package engine

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// spawn starts the daemons and timers that the object should have, and ends those that it
// should not. It returns when to look again after those that take their time to end.
func (c *cycle) spawn() []time.Duration {
	group := c.memory.group.Load()
	if group == nil && !c.handlers.Has(handlers.Spawning) {
		return nil
	}
	switch {
	case c.event == watch.Deleted:
		c.memory.left.Store(true)
		c.endLater(c.key(), c.memory, daemons.ResourceDeleted)
		return nil
	case group == nil && c.object.Deleting:
		return nil // what does not run need not be ended
	case group == nil && c.stragglers.straggle(c.key(), nil):
		return nil // there is but one of each: the end of the old ones leads here again
	case group == nil:
		group = daemons.NewGroup(c.background, newSpawner(c.server, c.memory), c.settings.Background, c.object)
		c.memory.group.Store(group)
	}
	group.Update(c.object, c.changedEssentially())
	if c.object.Deleting {
		return group.Stop(daemons.ResourceDeleted)
	}
	return group.Adjust(c.handlers.Selected(handlers.Spawning, c.cause))
}

var essenceSeed = maphash.MakeSeed()

// changedEssentially tells whether the object is another than the one seen before, apart
// from what operators write on it and from its status: that is what idle timers wait for.
// What was last handled does not tell, as it is not recorded for daemons and timers.
func (c *cycle) changedEssentially() bool {
	if !slices.ContainsFunc(c.handlers.Handlers(handlers.Spawning), func(h *handlers.Handler) bool { return h.Idle != nil }) {
		return false
	}
	text, err := json.Marshal(c.cause.New)
	if err != nil {
		return true // it is a decoded object: this does not happen
	}
	before := c.memory.essence
	c.memory.essence = maphash.Bytes(essenceSeed, text)
	return before != 0 && before != c.memory.essence
}

// retired are the daemons and timers of the object that are not to be started again.
func (m *memory) retired() map[string]struct{} {
	if group := m.group.Load(); group != nil {
		return group.Retired()
	}
	return nil
}
