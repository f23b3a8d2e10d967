package daemons

import (
	"context"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// Stop asks all tasks to stop. It returns the delays after which to check the tasks that are still stopping; none if all
// have ended or were abandoned. An abandoned task does not start again before it has ended, so a handler never has more
// than one task.
func (g *Group) Stop(reason Reason) []time.Duration { return g.stop(g.Tasks(), reason) }

// StopMismatched stops the tasks of all handlers except the given handlers, which match the object. It returns the delays
// after which to check the tasks that are stopping. If a task of the given handlers is still stopping because of an earlier
// request, the caller must start it again when it has ended.
func (g *Group) StopMismatched(matching []*handlers.Handler) []time.Duration {
	var others, ending []*Task
	for _, t := range g.Tasks() {
		switch {
		case !slices.ContainsFunc(matching, func(h *handlers.Handler) bool { return h.ID == t.Handler.ID }):
			others = append(others, t)
		case t.stopper.why() != 0:
			ending = append(ending, t)
		}
	}
	return append(g.stop(others, FiltersMismatch), g.escalate(ending)...)
}

// Wait stops all tasks and blocks until they have ended or were abandoned. For tasks without a limit, it blocks until
// the context ends.
func (g *Group) Wait(ctx context.Context, reason Reason) {
	for {
		delays := g.Stop(reason)
		if len(delays) == 0 || !g.sleep(ctx, slices.Min(delays)) {
			return
		}
	}
}

// sleep blocks for a duration, or until all tasks have ended or were abandoned. It returns false when the context has
// ended.
func (g *Group) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for _, t := range g.Tasks() {
		if t.stopper.reached(abandoned) {
			continue
		}
		select {
		case <-t.done:
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// stop asks tasks to stop, and escalates for tasks that do not end at once.
func (g *Group) stop(tasks []*Task, reason Reason) []time.Duration {
	now := time.Now()
	fresh := false
	for _, t := range tasks {
		fresh = t.stopper.set(reason, now) || fresh
		if t.gracePeriod().backoff <= 0 {
			t.cancelOnce()
		}
		t.interrupt()
	}
	if fresh {
		g.instantExit(tasks)
	}
	return g.escalate(tasks)
}

// escalate moves stopping tasks forward as their grace periods end: it cancels the context of a task after the
// backoff, and abandons the task after the timeout. It returns the delays until the next checks.
func (g *Group) escalate(tasks []*Task) []time.Duration {
	var delays []time.Duration
	for _, t := range tasks {
		if delay, wait := g.escalateOne(t); wait {
			delays = append(delays, delay)
		}
	}
	return delays
}

func (g *Group) escalateOne(t *Task) (time.Duration, bool) {
	age := t.stopper.age(time.Now())
	switch p := t.gracePeriod(); {
	case t.ended():
		return 0, false
	case age < p.backoff:
		if t.stopper.reach(signalled) {
			g.host.Logger().Debug(t.String()+" is signalled to exit gracefully.", observe.EventKey, observe.LogDaemonSignalled)
		}
		return p.backoff - age, true
	case p.limited && age >= p.backoff+p.timeout:
		g.abandon(t)
		return 0, false
	case p.limited:
		g.forceExit(t)
		return p.backoff + p.timeout - age, !t.ended()
	default:
		if g.forceExit(t); t.ended() {
			return 0, false
		}
		g.host.Logger().Debug(t.String()+" is still exiting.", observe.EventKey, observe.LogDaemonExiting, "the next check is in", p.polling.String())
		return p.polling, true
	}
}

// forceExit cancels the context of a task once.
func (g *Group) forceExit(t *Task) {
	if t.cancelOnce() {
		g.host.Logger().Debug(t.String()+" is signalled to exit by force.", observe.EventKey, observe.LogDaemonSignalled)
		g.instantExit([]*Task{t})
	}
}

// abandon cancels the context of a task and leaves it running. The operator stops waiting for it.
func (g *Group) abandon(t *Task) {
	t.cancelOnce()
	if t.stopper.reach(abandoned) {
		g.host.Logger().Warn(t.String()+" did not exit in time. Leaving it orphaned.", observe.EventKey, observe.LogDaemonAbandoned)
	}
}

// instantExit blocks shortly for tasks that stop at once, so that no check is scheduled for them.
func (g *Group) instantExit(tasks []*Task) {
	if g.settings.InstantExit <= 0 {
		return
	}
	timer := time.NewTimer(g.settings.InstantExit)
	defer timer.Stop()
	for _, t := range tasks {
		select {
		case <-t.done:
		case <-timer.C:
			return
		}
	}
}

// gracePeriod is how long to wait for a task that was asked to stop.
type gracePeriod struct {
	backoff time.Duration // time until the context is cancelled
	timeout time.Duration // time from the cancellation until the task is abandoned, if limited
	limited bool
	polling time.Duration
}

func (t *Task) gracePeriod() gracePeriod {
	h, p := t.Handler, gracePeriod{polling: t.group.settings.Polling}
	if h.CancellationBackoff != nil {
		p.backoff = *h.CancellationBackoff
	}
	if h.CancellationTimeout != nil {
		p.timeout, p.limited = *h.CancellationTimeout, true
	}
	if h.CancellationPolling != nil {
		p.polling = *h.CancellationPolling
	}
	if p.polling <= 0 {
		p.polling = rarePolling
	}
	return p
}

// rarePolling is the polling interval of tasks with disabled polling. Their end is noticed without polling.
const rarePolling = 24 * time.Hour
