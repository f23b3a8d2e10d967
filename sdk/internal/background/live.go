package background

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/wire"
)

// Update shows the tasks the version of the object that was seen last. If its essence has
// changed, idle timers begin to wait anew.
func (g *Group) Update(object *wire.Object, changed bool) {
	g.mu.Lock()
	if changed {
		g.changed = time.Now()
	}
	if g.wrote == "" || !wire.Older(object.ResourceVersion, g.wrote) { // else the tasks know better
		g.wrote = ""
		g.show(object)
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
func (g *Group) Wrote(object *wire.Object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if wire.Older(g.live.ResourceVersion, object.ResourceVersion) {
		g.wrote = object.ResourceVersion
		g.show(object)
	}
}

func (g *Group) show(object *wire.Object) {
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
func (g *Group) Live() *wire.Object {
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
