package engine

import (
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// meterState returns what the operator is doing at the moment.
func meterState(d *deps, memories *memories, poster *observe.Poster) observe.MeterState {
	queue := d.queue.Stats()
	s := observe.MeterState{
		Objects: memories.onlyIndexed(),
		Queued:  queue.Ready, Running: queue.Running, Sleeping: queue.Waiting, Paused: d.state.paused.Load(),
		ShardsAcquired: int(d.leases.shards.Acquired.Load()), ShardsReleased: int(d.leases.shards.Released.Load()),
		ShardsLost: int(d.leases.shards.Lost.Load()),
		Leads:      d.leases.leads.Load(), TimesElected: int(d.leases.elected.Load()), LeasesLost: int(d.leases.lost.Load()),
	}
	if d.shards != nil {
		s.Shards = d.shards.own.Load().Len()
	}
	for _, m := range memories.all() {
		s.Objects++
		group := m.group.Load()
		if group == nil {
			continue
		}
		for _, task := range group.Tasks() {
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
