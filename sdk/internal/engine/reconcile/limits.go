package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

var errPaced = errors.New("the writes after a start are sent one after the other, so that a new build does not change everything at once")

// pace delays a write of a pass that no user has caused, without holding a worker: the pass ends, and the next one begins when
// the write may be sent.
func (p *Pass) pace() error {
	if !unprovoked(p.wakes) {
		return nil
	}
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.parent.pacing {
		p.parent.pacing = false
		return nil
	}
	delay := f.reconciler.limiter.Reserve().Delay()
	if delay == 0 {
		return nil
	}
	p.parent.pacing = true
	f.arm(p.parent, WakeStart, delay)
	return handlers.AsWaiting(errPaced, delay)
}

// A fight is the repeated revert of the same field.
const (
	fightCount  = 5
	fightWithin = time.Minute
	fightFirst  = time.Second
	fightMost   = 5 * time.Minute
)

// fight counts the reverts of a child.
type fight struct {
	reverts []time.Time   // times of the last reverts
	until   time.Time     // time before which the child is not applied
	delay   time.Duration // zero if there is no fight
	about   string        // field and manager
}

// wait returns how long the operator must not apply the child.
func (f *fight) wait(now time.Time) time.Duration { return max(0, f.until.Sub(now)) }

// note counts a revert. It reports whether it begins a fight.
func (f *fight) note(now time.Time, about string) (begins bool) {
	f.reverts = slices.DeleteFunc(append(slices.Clone(f.reverts), now), func(t time.Time) bool { return now.Sub(t) > max(fightWithin, fightCount*f.delay) })
	f.about = about
	if len(f.reverts) < fightCount {
		f.delay = 0
		return false
	}
	begins = f.delay == 0
	f.delay = min(max(2*f.delay, fightFirst), fightMost)
	f.until = now.Add(f.delay)
	return begins
}

// countFight counts a revert against another manager, and warns once of a fight.
func (p *Pass) countFight(d *desired, drift []children.Drift) {
	f := p.family
	f.mu.Lock()
	c := d.kind.children[d.name]
	begins := c != nil && c.fight.note(f.reconciler.deps.Now(), drift[0].String())
	f.mu.Unlock()
	if begins {
		p.subject.Logger.Warn(fmt.Sprintf("Another manager changes a field of %s again and again: %s. Remove the field from one of the two, or set kopf.Own.Drift",
			d, drift[0]), observe.EventKey, observe.LogDriftFight, "child", d.String(), "field", drift[0].Path, "manager", drift[0].Manager)
	}
}

// The brake limits the pruning of parents that have not changed since the start: a bad release must not delete everything.
const (
	brakeWindow  = 10 * time.Minute
	brakeAtLeast = 10
	brakePercent = 2
)

// brake counts the prunes of a family's kinds.
type brake struct {
	prunes map[*kind][]time.Time
	pulled map[*kind]bool
}

// braked reports whether a child must not be pruned now.
func (p *Pass) braked(d *desired) bool {
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	if !p.parent.braking {
		return false
	}
	b, now := &f.brake, f.reconciler.deps.Now()
	if b.prunes == nil {
		b.prunes, b.pulled = map[*kind][]time.Time{}, map[*kind]bool{}
	}
	recent := slices.DeleteFunc(b.prunes[d.kind], func(t time.Time) bool { return now.Sub(t) > brakeWindow })
	if !b.pulled[d.kind] && len(recent) < max(brakeAtLeast, len(d.kind.children)*brakePercent/100) {
		b.prunes[d.kind] = append(recent, now)
		return false
	}
	if !b.pulled[d.kind] {
		b.pulled[d.kind] = true
		f.reconciler.deps.Logger.Error(fmt.Sprintf("Stopped the deletion of %s: since the start, %d were deleted without a change of their parents. "+
			"Roll the operator back or, if the deletion is intended, continue it with: kopf retry", d.to.resource.Plural, len(recent)),
			observe.EventKey, observe.LogPruneStopped, "resource", d.to.resource.Key())
	}
	return true
}

// uncount takes back that a prune was counted, because the pace delays it.
func (p *Pass) uncount(d *desired) {
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	if counted := p.family.brake.prunes[d.kind]; p.parent.braking && len(counted) > 0 {
		p.family.brake.prunes[d.kind] = counted[:len(counted)-1]
	}
}
