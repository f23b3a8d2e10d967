package engine

import (
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// meterState returns the values of the gauges and counters that the operator does not report as events.
func (o *operator) meterState() observe.MeterState {
	d, queue := o.deps, o.deps.Queue.Stats()
	s := observe.MeterState{
		Objects: o.memories.OnlyIndexed(),
		Queued:  queue.Ready, Running: queue.Running, Sleeping: queue.Waiting, CatchingUp: queue.CatchUp.Objects - queue.CatchUp.Handled,
		Paused:         d.State.Paused.Load(),
		Children:       o.parts.Passes.ChildStates(),
		ShardsAcquired: int(d.Leases.Shards.Acquired.Load()), ShardsReleased: int(d.Leases.Shards.Released.Load()),
		ShardsLost: int(d.Leases.Shards.Lost.Load()),
		Leads:      d.Leases.Leads.Load(), TimesElected: int(d.Leases.Elected.Load()), LeasesLost: int(d.Leases.Lost.Load()),
	}
	if d.Shards != nil {
		s.Shards = d.Shards.Own.Load().Len()
	}
	for _, m := range o.memories.All() {
		s.Objects++
		for _, task := range m.Group.Load().Tasks() {
			if task.Handler.Family == handlers.Daemon {
				s.Daemons++
			} else {
				s.Timers++
			}
		}
	}
	if o.poster != nil {
		stats := o.poster.Stats()
		s.Posted, s.Repeated, s.Failed, s.Dropped = stats.Posted, stats.Repeated, stats.Failed, stats.Dropped
	}
	return s
}
