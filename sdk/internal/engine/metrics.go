package engine

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// startMetrics passes what happens on to the meter of the settings, from the first startup handler on.
// It is called after the startup handlers, since they may set the meter.
func (o *operator) startMetrics() {
	meter := o.deps.settings.Meter
	if meter == nil {
		o.backlog.HandOver(o.deps.sink, nil)
		return
	}
	// Not all logins that are registered are used, and others may be.
	all := slices.DeleteFunc(slices.Clone(o.config.Registry.All()), func(h *handlers.Handler) bool { return h.Family == handlers.Login })
	o.metrics = observe.NewMetrics(meter, append(all, o.config.Logins...))
	o.backlog.HandOver(o.deps.sink, o.metrics)
}

// meterState returns what the operator is doing at the moment.
func (o *operator) meterState() observe.MeterState {
	queue := o.deps.queue.Stats()
	s := observe.MeterState{
		Objects: o.memories.onlyIndexed(),
		Queued:  queue.Ready, Running: queue.Running, Sleeping: queue.Waiting, Paused: o.deps.state.paused.Load(),
	}
	for _, m := range o.memories.all() {
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
	if o.poster != nil {
		stats := o.poster.Stats()
		s.Posted, s.Repeated, s.Failed, s.Dropped = stats.Posted, stats.Repeated, stats.Failed, stats.Dropped
	}
	return s
}
