package daemons

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Update shows the tasks the version of the object that was seen last. If its essence has
// changed, idle timers begin to wait anew.
func (g *Group) Update(obj *object.Object, changed bool) {
	g.mu.Lock()
	if changed {
		g.changed = time.Now()
	}
	if g.wrote == "" || !object.Older(obj.ResourceVersion, g.wrote) { // else the tasks know better
		g.wrote = ""
		g.show(obj)
	}
	g.mu.Unlock()
	if !changed {
		return
	}
	for _, t := range g.Tasks() {
		t.wake(aChange)
	}
}

// Wrote shows the tasks a version that one of them has made, ahead of its event: what they
// do next builds upon it.
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

// Newer returns a channel that closes when there is a newer version than now.
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
	return g.changed
}

// Hurry makes the tasks that wait after a failure try again at once.
func (g *Group) Hurry() {
	for _, t := range g.Tasks() {
		t.hurry()
	}
}
