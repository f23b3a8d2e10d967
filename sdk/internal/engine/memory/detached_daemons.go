package memory

import (
	"context"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// DetachedDaemons are daemons and timers that were asked to stop while no worker processes their
// objects: the objects were deleted, are no longer served, or the operator was paused. It is safe for
// concurrent use.
type DetachedDaemons struct {
	Background context.Context
	Sink       *observe.Sink

	mu      sync.Mutex
	closed  bool // the operator exits and waits for all of them
	groups  map[queue.Key]*daemons.Group
	Waiting sync.WaitGroup
}

// Stop stops the daemons and timers of an object. It returns at once and waits for them in the
// background. The channel closes when all have ended or were abandoned; it is nil if none are running, or if
// the operator exits.
func (d *DetachedDaemons) Stop(key queue.Key, m *Memory, reason daemons.Reason) (stopped <-chan struct{}) {
	group := m.Group.Load()
	if group == nil || len(group.Tasks()) == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.groups == nil {
		d.groups = map[queue.Key]*daemons.Group{}
	}
	d.groups[key] = group
	d.TellStopping(m.Identity, group)
	if d.closed {
		return nil
	}
	done := make(chan struct{})
	d.Waiting.Go(func() {
		defer close(done)
		group.Wait(d.Background, reason)
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.groups[key] == group && len(group.Tasks()) == 0 {
			delete(d.groups, key)
		}
	})
	return done
}

// TellStopping reports the tasks of a group that are asked to stop.
func (d *DetachedDaemons) TellStopping(identity *observe.Identity, group *daemons.Group) {
	if !d.Sink.Wants(observe.KindBackgroundStopped) {
		return
	}
	stopping := observe.BackgroundStopped{Identity: identity}
	for _, task := range group.Tasks() {
		stopping.Handlers = append(stopping.Handlers, task.Handler)
	}
	observe.Tell(d.Sink, stopping)
}

// Running reports whether daemons or timers of an object are still running that were detached from
// an earlier memory of it.
func (d *DetachedDaemons) Running(key queue.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	group := d.groups[key]
	return group != nil && len(group.Tasks()) > 0
}

// Close returns the groups of all detached daemons. From then on, the caller waits for their end, and
// for the end of those that are still added.
func (d *DetachedDaemons) Close() []*daemons.Group {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	var groups []*daemons.Group
	for _, group := range d.groups {
		groups = append(groups, group)
	}
	return groups
}
