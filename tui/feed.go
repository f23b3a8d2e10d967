package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
)

// feedInterval is the minimum time between two updates of the screen. It limits the cost
// of drawing, whatever happens in the cluster.
const feedInterval = time.Second / 15

// stateMsg delivers a state to the screen.
type stateMsg struct{ state *explain.State }

// feed sends the states of the source to the screen until the context ends or the source
// closes. It is the only reader of the source. It prepares the states in the background, because
// the time for the preparation grows with the number of objects.
func feed(ctx context.Context, source Source, seen *explain.State, send func(tea.Msg)) {
	changes := source.Changes()
	for more := true; ; {
		if s := source.State(); s.Revision != seen.Revision {
			seen = explain.NewState(s, seen)
			send(stateMsg{seen})
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
