package engine

import (
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

func meterState(d *core.Deps, memories *memory.Memories, passes core.Passes, poster *observe.Poster) observe.MeterState {
	queue := d.Queue.Stats()
	s := observe.MeterState{
		Objects: memories.OnlyIndexed(),
		Queued:  queue.Ready, Running: queue.Running, Sleeping: queue.Waiting, CatchingUp: queue.CatchUp.Objects - queue.CatchUp.Handled, Paused: d.State.Paused.Load(),
		Children:       passes.ChildStates(),
		ShardsAcquired: int(d.Leases.Shards.Acquired.Load()), ShardsReleased: int(d.Leases.Shards.Released.Load()),
		ShardsLost: int(d.Leases.Shards.Lost.Load()),
		Leads:      d.Leases.Leads.Load(), TimesElected: int(d.Leases.Elected.Load()), LeasesLost: int(d.Leases.Lost.Load()),
	}
	if d.Shards != nil {
		s.Shards = d.Shards.Own.Load().Len()
	}
	for _, m := range memories.All() {
		s.Objects++
		for _, task := range m.Group.Load().Tasks() {
			if task.Handler.Family == handlers.Daemon {
				s.Daemons++
			} else {
				s.Timers++
			}
		}
	}
	if poster != nil {
		stats := poster.Stats()
		s.Posted, s.Repeated, s.Failed, s.Dropped = stats.Posted, stats.Repeated, stats.Failed, stats.Dropped
	}
	return s
}
