package daemons

import (
	"context"
	"slices"
	"time"
)

// Stop asks all tasks to end. It returns when to look again after those that take their
// time; none if all have ended or were abandoned. An abandoned task is not started again
// before it has ended after all: there is never more than one of a handler.
func (g *Group) Stop(reason Reason) []time.Duration { return g.stop(g.Tasks(), reason) }

// Wait stops all tasks and waits until they have ended, as far as the patience of each
// allows: those with no limit are waited for until the context ends.
func (g *Group) Wait(ctx context.Context, reason Reason) {
	for {
		delays := g.Stop(reason)
		if len(delays) == 0 || !g.sleep(ctx, slices.Min(delays)) {
			return
		}
	}
}

// sleep waits for a while, but not longer than until all tasks have ended that are waited
// for. It is false when the context has ended.
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

// stop asks tasks to end, and takes those that do not end at once one step further.
func (g *Group) stop(tasks []*Task, reason Reason) []time.Duration {
	now := time.Now()
	fresh := false
	for _, t := range tasks {
		fresh = t.stopper.set(reason, now) || fresh
		if t.patience().backoff <= 0 {
			t.cancelOnce()
		}
		t.interrupt()
	}
	if fresh {
		g.instantExit(tasks)
	}
	return g.push(tasks)
}

// push takes tasks that were asked to end as far as their time allows: first nothing more
// than that, then their contexts are cancelled, then they are abandoned. It returns when
// to look again.
func (g *Group) push(tasks []*Task) []time.Duration {
	var delays []time.Duration
	for _, t := range tasks {
		if delay, wait := g.pushOne(t); wait {
			delays = append(delays, delay)
		}
	}
	return delays
}

func (g *Group) pushOne(t *Task) (time.Duration, bool) {
	age := t.stopper.age(time.Now())
	switch p := t.patience(); {
	case t.ended():
		return 0, false
	case age < p.backoff:
		if t.stopper.reach(signalled) {
			g.host.Logger().Debug(t.String() + " is signalled to exit gracefully.")
		}
		return p.backoff - age, true
	case p.limited && age >= p.backoff+p.timeout:
		t.cancelOnce()
		if t.stopper.reach(abandoned) {
			g.host.Logger().Warn(t.String() + " did not exit in time. Leaving it orphaned.")
		}
		return 0, false
	case p.limited:
		g.force(t)
		return p.backoff + p.timeout - age, !t.ended()
	default:
		if g.force(t); t.ended() {
			return 0, false
		}
		g.host.Logger().Debug(t.String()+" is still exiting.", "the next check is in", p.polling.String())
		return p.polling, true
	}
}

// force cancels the context of a task, if that was not done yet.
func (g *Group) force(t *Task) {
	if t.cancelOnce() {
		g.host.Logger().Debug(t.String() + " is signalled to exit by force.")
		g.instantExit([]*Task{t})
	}
}

// instantExit gives tasks that end at once the time to do so, so that nothing has to be
// scheduled for them.
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

// patience is how long to wait for a task that is to end.
type patience struct {
	backoff time.Duration // until its context is cancelled
	timeout time.Duration // from then until it is abandoned, if limited
	limited bool
	polling time.Duration
}

func (t *Task) patience() patience {
	h, p := t.Handler, patience{polling: t.group.settings.Polling}
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
		p.polling = seldom
	}
	return p
}

// seldom is how often a task is looked after that nobody wants to look after: its end is told
// anyway.
const seldom = 24 * time.Hour
