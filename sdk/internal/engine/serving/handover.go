package serving

import (
	"maps"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
)

// HandOver stops the operator's work on the objects of shards that other replicas take over, and drops their memories. It blocks
// until all handlers, daemons and timers have ended. If it is urgent, handlers have no grace period.
func (s *Streams) HandOver(gone shards.Set, urgent bool) {
	d, whole := s.deps, map[string]bool{} // resources whose objects are not divided into shards
	s.mu.Lock()
	for key, res := range s.resources {
		whole[key] = !res.Narrowed()
	}
	s.mu.Unlock()
	matches := func(key queue.Key, namespace string) bool {
		return !whole[key.Resource] && gone.Has(d.Shards.OfKey(key, namespace))
	}
	keys, stopping := s.forgetShards(matches)
	grace := d.Settings.ExitTimeout
	if urgent {
		grace = 0
	}
	d.Running.Stop(matches, grace, d.Logger)
	again, stoppingAgain := s.forgetShards(matches) // cycles that have just ended may have created memories again
	maps.Copy(keys, again)
	for key := range keys {
		d.Forget(key) // now, because the cycles have used their passes and conditions
	}
	for _, stopped := range append(stopping, stoppingAgain...) {
		<-stopped
	}
}

// forgetShards is forget for objects that other replicas take over. It also drops their queued events and index entries.
func (s *Streams) forgetShards(matches func(key queue.Key, namespace string) bool) (keys map[queue.Key]bool, stopping []<-chan struct{}) {
	keys, stopping = s.forget(daemons.OperatorPausing, func(key queue.Key, m *memory.Memory) bool { return matches(key, m.Namespace) })
	s.deps.Queue.DropObjects(matches)
	ids := map[string][]string{}
	for key := range keys {
		ids[key.Resource] = append(ids[key.Resource], key.Object)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for scope, x := range s.indexers {
		if gone := ids[scope.Resource]; x != nil && len(gone) > 0 {
			x.Forget(gone)
		}
	}
	return keys, stopping
}

// forget drops the matching memories, and asks the daemons and timers of their objects to stop. The channels close when they have.
func (s *Streams) forget(why daemons.Reason, matches func(queue.Key, *memory.Memory) bool) (keys map[queue.Key]bool, stopping []<-chan struct{}) {
	keys = map[queue.Key]bool{}
	for key, m := range s.memories.ForgetAll(matches) {
		keys[key] = true
		observe.Emit(s.deps.Sink, observe.ObjectForgotten{Identity: m.Identity})
		if stopped := s.detached.Stop(key, m, why); stopped != nil {
			stopping = append(stopping, stopped)
		}
	}
	return keys, stopping
}
