package engine

import "github.com/kopf-dev/kopf/sdk/internal/observe"

// warnSharedState warns, once for each resource, if another program has changed the last-handled state.
func (c *cycle) warnSharedState() {
	var hash uint64
	if c.view.handled != nil {
		hash = hashEssence(c.view.handled)
	}
	if !c.memory.life.states.read(hash, c.memory.term, c.memory.life.unfinished) {
		return
	}
	if _, warned := c.deps.sharedState.LoadOrStore(c.served.resource.Key(), true); warned {
		return
	}
	c.unpostedSubject().Logger.Warn("Another program has replaced the operator's last-handled state of the object: handlers can be left out or repeated. "+
		"Give each operator a separate Registry.Prefix, and replicas leader election or peering. metadata.managedFields names the program.",
		observe.EventKey, observe.LogStateShared)
}
