package engine

import (
	"fmt"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// orphanedProgress warns about progress on objects that belongs to no handler, most likely because
// the handler was renamed: it then starts again from the beginning.
type orphanedProgress struct {
	mu     sync.Mutex
	warned map[string]bool // by the resource and the handler
}

// warn warns about the orphaned progress of an object, once for each resource and handler.
func (o *orphanedProgress) warn(c *cycle) {
	if !c.changing {
		return
	}
	found := state.Orphans(c.stored, c.deps.settings.Progress, c.served.changing)
	c.report.unknown(found)
	for _, orphan := range found {
		if o.first(c.served.resource.Key() + " " + orphan.Name) {
			c.logger.Warn(fmt.Sprintf("There is progress of the handler %q on the object, and no such handler. "+
				"If it was renamed, it goes on from there with kopf.ID(%q).", orphan.Name, orphan.Name))
		}
	}
}

func (o *orphanedProgress) first(what string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.warned[what] {
		return false
	}
	if o.warned == nil {
		o.warned = map[string]bool{}
	}
	o.warned[what] = true
	return true
}
