package engine

import (
	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/leases"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
)

// handover stops what the operator does for objects that other replicas handle from now on.
type handover struct {
	deps     *deps
	memories *memories
	detached *detachedDaemons
	streams  *streams
}

// newSharing returns the sharing of shards among the replicas. It belongs to the streams that exist by then.
func (h *handover) newSharing(lease Lease) *leases.Sharing {
	d := h.deps
	return leases.NewSharing(leases.Options{
		Client: leases.NewClient(d.client, lease.Namespace), Name: lease.Name, Identity: lease.Identity,
		Division: d.shards.division, Times: lease.Times, Logger: d.logger, Stats: &d.leases.shards,
		Guard: d.shards.guard,
		Act: func(own shards.Set) {
			d.shards.set(own)
			observe.Tell(d.sink, observe.ShardsChanged{Division: d.shards.division, Own: own.All()})
		},
		Stop: h.stopShards,
	})
}

// stopShards stops what the operator does for the objects of shards, and forgets them. It blocks until all
// has ended; if it is urgent, handlers have no grace period.
func (h *handover) stopShards(gone shards.Set, urgent bool) {
	d, whole := h.deps, h.streams.whole()
	var stopping []<-chan struct{}
	matches := func(key queue.Key, namespace string) bool {
		return !whole[key.Resource] && gone.Has(d.shards.ofKey(key, namespace))
	}
	h.forget(matches, &stopping)
	grace := d.settings.ExitTimeout
	if urgent {
		grace = 0
	}
	d.running.stop(matches, grace, func(objects int) {
		d.logger.Warn("Some handlers ignore that another replica takes their objects over; waiting for them",
			observe.EventKey, observe.LogHandoverDelayed, "objects", objects)
	})
	h.forget(matches, &stopping) // those that were handled until now
	for _, stopped := range stopping {
		<-stopped
	}
}

// forget forgets objects, and asks their daemons and timers to stop.
func (h *handover) forget(matches func(key queue.Key, namespace string) bool, stopping *[]<-chan struct{}) {
	gone := h.memories.forgetAll(func(key queue.Key, m *memory) bool { return matches(key, m.namespace) })
	h.deps.queue.DropObjects(matches)
	ids := map[string][]string{}
	for key, m := range gone {
		ids[key.Resource] = append(ids[key.Resource], key.Object)
		observe.Tell(h.deps.sink, observe.ObjectForgotten{Identity: m.identity})
		if stopped := h.detached.stop(key, m, daemons.OperatorPausing); stopped != nil {
			*stopping = append(*stopping, stopped)
		}
	}
	h.streams.removeFromIndices(ids)
}
