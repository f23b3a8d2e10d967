package replicas

import (
	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/serving"
	"github.com/kopf-dev/kopf/sdk/internal/leases"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
)

// Handover stops the operator's work on objects that other replicas take over.
type Handover struct {
	Deps     *core.Deps
	Memories *memory.Memories
	Detached *memory.DetachedDaemons
	Streams  *serving.Streams
}

// newSharing returns the sharing of shards among the replicas. The streams must exist.
func (h *Handover) newSharing(lease core.Lease) *leases.Sharing {
	d := h.Deps
	return leases.NewSharing(leases.Options{
		Client: leases.NewClient(d.Client, lease.Namespace), Name: lease.Name, Identity: lease.Identity,
		Division: d.Shards.Division, Times: lease.Times, Logger: d.Logger, Stats: &d.Leases.Shards,
		Guard: d.Shards.Guard,
		Act: func(own shards.Set) {
			d.Shards.Set(own)
			observe.Emit(d.Sink, observe.ShardsChanged{Division: d.Shards.Division, Own: own.All()})
		},
		Stop: h.stopShards,
	})
}

// stopShards stops the operator's work on the objects of shards, and drops their memories. It blocks until all handlers,
// daemons and timers have ended. If it is urgent, handlers have no grace period.
func (h *Handover) stopShards(gone shards.Set, urgent bool) {
	d, whole := h.Deps, h.Streams.Whole()
	matches := func(key queue.Key, namespace string) bool {
		return !whole[key.Resource] && gone.Has(d.Shards.OfKey(key, namespace))
	}
	keys, stopping := h.forget(matches)
	grace := d.Settings.ExitTimeout
	if urgent {
		grace = 0
	}
	d.Running.Stop(matches, grace, d.Logger)
	again, stoppingAgain := h.forget(matches) // cycles that have just ended may have created memories again
	for _, key := range append(keys, again...) {
		h.Streams.OnForget(key) // now, because the cycles have used their passes and conditions
	}
	for _, stopped := range append(stopping, stoppingAgain...) {
		<-stopped
	}
}

// forget drops the memories of objects, and asks their daemons and timers to stop. The channels close when they have.
func (h *Handover) forget(matches func(key queue.Key, namespace string) bool) (keys []queue.Key, stopping []<-chan struct{}) {
	gone := h.Memories.ForgetAll(func(key queue.Key, m *memory.Memory) bool { return matches(key, m.Namespace) })
	h.Deps.Queue.DropObjects(matches)
	ids := map[string][]string{}
	for key, m := range gone {
		keys = append(keys, key)
		ids[key.Resource] = append(ids[key.Resource], key.Object)
		observe.Emit(h.Deps.Sink, observe.ObjectForgotten{Identity: m.Identity})
		if stopped := h.Detached.Stop(key, m, daemons.OperatorPausing); stopped != nil {
			stopping = append(stopping, stopped)
		}
	}
	h.Streams.RemoveFromIndices(ids)
	return keys, stopping
}
