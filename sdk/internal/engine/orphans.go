package engine

import (
	"fmt"
	"sync"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// onces are things that are said once for the whole operator.
type onces struct {
	mu   sync.Mutex
	said map[string]bool
}

func (o *onces) first(what string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.said[what] {
		return false
	}
	if o.said == nil {
		o.said = map[string]bool{}
	}
	o.said[what] = true
	return true
}

// orphans tells of progress on the object that no handler will ever continue: most likely
// of one that was renamed, and that is called again from the beginning.
func (c *cycle) orphans() {
	found := state.Orphans(c.seen, c.settings.Progress, c.owned)
	c.report.unknown(found)
	for _, o := range found {
		if c.said.first("orphan " + c.resource.Key() + " " + o.Name) {
			c.logger.Warn(fmt.Sprintf("There is progress of the handler %q on the object, and no such handler. "+
				"If it was renamed, it goes on from there with kopf.ID(%q).", o.Name, o.Name))
		}
	}
}

// unknown lists the handlers that nobody has. They are no part of the object's state: it
// does not wait for them.
func (r *report) unknown(found []state.Orphan) {
	if r == nil || len(found) == 0 && len(r.orphans) == 0 {
		return
	}
	r.orphans = nil
	for _, o := range found {
		state := inspect.HandlerState{ID: o.Name}
		recorded(&state, o.Record)
		state.State = inspect.PhaseUnknown
		r.orphans = append(r.orphans, state)
	}
	r.publish()
}
