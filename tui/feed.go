package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
)

// feedInterval is the shortest time between two updates of the screen: 15 a second. The
// cost of the workbench is that of drawing, so this is what bounds it, whatever happens
// in the cluster; people cannot read faster anyway.
const feedInterval = time.Second / 15

// worldMsg brings a new world.
type worldMsg struct{ world *world }

// feed brings the changes of the source to the screen. It is the only reader of the
// source. All that depends on the number of objects is done here, beside the screen.
func feed(ctx context.Context, source Source, seen *world, send func(tea.Msg)) {
	changes := source.Changes()
	for more := true; ; {
		if s := source.State(); s.Revision != seen.state.Revision {
			seen = newWorld(s, seen)
			send(worldMsg{seen})
		}
		if !more {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(feedInterval):
		}
		select {
		case <-ctx.Done():
			return
		case _, more = <-changes:
		}
	}
}
