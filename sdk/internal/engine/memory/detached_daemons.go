package memory

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// DetachedDaemons are daemons and timers that must stop while no worker processes their objects, because the objects
// were deleted, the operator stopped serving them, or the operator is paused. It is safe for concurrent use.
type DetachedDaemons struct {
	Background context.Context
	Sink       *observe.Sink

	mu      sync.Mutex
	closed  bool // set when the operator exits and waits for all groups
	groups  map[queue.Key]*daemons.Group
	Waiting sync.WaitGroup
}

// Stop stops the daemons and timers of an object. It does not block: it waits for them in the background. The channel
// closes when all have ended or were abandoned; it is nil if none are running, or if the operator exits.
func (d *DetachedDaemons) Stop(key queue.Key, m *Memory, reason daemons.Reason) (stopped <-chan struct{}) {
	group := m.Group.Load()
	if len(group.Tasks()) == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.groups == nil {
		d.groups = map[queue.Key]*daemons.Group{}
	}
	d.groups[key] = group
	d.EmitStopping(m.Identity, group)
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

// EmitStopping emits BackgroundStopped with the tasks of a stopping group.
func (d *DetachedDaemons) EmitStopping(identity *observe.Identity, group *daemons.Group) {
	if !d.Sink.Wants(observe.KindBackgroundStopped) {
		return
	}
	stopping := observe.BackgroundStopped{Identity: identity}
	for _, task := range group.Tasks() {
		stopping.Handlers = append(stopping.Handlers, task.Handler)
	}
	observe.Emit(d.Sink, stopping)
}

// Running reports whether daemons or timers of the object's earlier memory are still running.
func (d *DetachedDaemons) Running(key queue.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.groups[key].Tasks()) > 0
}

// Close returns the groups of all detached daemons. From then on, the caller waits for their end, and for the end of
// groups that are still added.
func (d *DetachedDaemons) Close() []*daemons.Group {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return slices.Collect(maps.Values(d.groups))
}
