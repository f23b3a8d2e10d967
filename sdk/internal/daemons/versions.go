package daemons

import (
	"maps"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Update passes the last seen version of the object to the tasks. If the hash of the essence changed, idle timers start to
// wait again. A hash of zero means that no timer waits for changes of the essence.
func (g *Group) Update(obj *object.Object, essence uint64) {
	g.mu.Lock()
	changed := g.essence != 0 && essence != 0 && g.essence != essence
	if essence != 0 {
		g.essence = essence
	}
	if changed {
		g.lastChange = time.Now()
	}
	if g.wrote == "" || !object.Older(obj.ResourceVersion, g.wrote) { // otherwise, the version of Wrote is newer
		g.wrote = ""
		g.show(obj)
	}
	g.mu.Unlock()
	if !changed {
		return
	}
	for _, t := range g.Tasks() {
		t.wake(wakeOnChange)
	}
}

// Wrote passes a version that a task's patch made to all tasks, before the event of the version arrives.
func (g *Group) Wrote(obj *object.Object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if object.Older(g.live.ResourceVersion, obj.ResourceVersion) {
		g.wrote = obj.ResourceVersion
		g.show(obj)
	}
}

func (g *Group) show(object *object.Object) {
	if object == g.live {
		return
	}
	g.live = object
	if g.newer != nil {
		close(g.newer)
		g.newer = nil
	}
}

// Live returns the newest version of the object.
func (g *Group) Live() *object.Object {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.live
}

// Newer returns a channel that closes when there is a newer version.
func (g *Group) Newer() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.newer == nil {
		g.newer = make(chan struct{})
	}
	return g.newer
}

func (g *Group) idleSince() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lastChange
}

// RetryNow immediately retries tasks whose last attempt failed, and permits permanently failed tasks to start again,
// for which the caller must call [Group.Start] soon. The function means selects the handlers by id; nil selects all.
func (g *Group) RetryNow(means func(id string) bool) {
	for _, t := range g.Tasks() {
		if means == nil || means(t.Handler.ID) {
			t.retryNow()
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.retired, func(id string, failed bool) bool { return failed && (means == nil || means(id)) })
}

// HasFailed reports whether handlers have failed permanently. A nil group has none.
func (g *Group) HasFailed() bool {
	return slices.Contains(slices.Collect(maps.Values(g.Retired())), true)
}
