package reconcile

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reasons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

var errPaced = errors.New("the write waits for the pace of 20 writes a second, so that a new build does not change everything at once")

// pace limits the rate of writes by unprovoked passes. It occupies no worker: if a write must wait, pace returns errPaced, which
// ends the pass, and the next pass begins when the limiter permits the write.
func (p *Pass) pace() error {
	if !p.wakes.Unprovoked() {
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
	f.arm(p.parent, inspect.WakeStart, delay)
	return handlers.AsWaiting(errPaced, delay)
}

// The operator delays the writes of a child if other clients or the handler itself undo the writes repeatedly.
const (
	fightCount    = 5           // reverts of drift before the delays begin
	unstableCount = 3           // different objects for the same input, or re-creations of a child, before the delays begin
	repeatsWithin = time.Minute // time in which repeated writes count
	firstDelay    = time.Second // doubled after each further write
	longestDelay  = 5 * time.Minute
)

// repeats counts the repeated writes of a child for one reason.
type repeats struct {
	last  []time.Time   // times of the last writes
	until time.Time     // time before which the child is not applied
	delay time.Duration // delay of the next write; 0 while few writes count
	about string        // description for messages: the field, with the manager in a fight, or the error that caused a re-creation
	alarm *alarm        // nil if there was none
}

// wait returns how long the operator must not apply the child; 0 for nil.
func (r *repeats) wait(now time.Time) time.Duration {
	if r == nil {
		return 0
	}
	return max(0, r.until.Sub(now))
}

// note counts a write. After many writes, it delays the next write. It reports whether this is the first delay.
func (r *repeats) note(now time.Time, about string, many int) (begins bool) {
	within := max(repeatsWithin, time.Duration(many)*r.delay)
	r.last = slices.DeleteFunc(append(slices.Clone(r.last), now), func(t time.Time) bool { return now.Sub(t) > within })
	r.about = about
	if len(r.last) < many {
		r.delay = 0
		return false
	}
	begins = r.delay == 0
	r.delay = min(max(2*r.delay, firstDelay), longestDelay)
	r.until = now.Add(r.delay)
	return begins
}

// ended reports whether the counted writes are too old to count, so that the next write is the first one again.
func (r *repeats) ended(now time.Time, many int) bool {
	return now.Sub(r.last[len(r.last)-1]) > max(repeatsWithin, time.Duration(many)*r.delay)
}

// countFight counts a revert of a field, and warns once of a fight.
func (p *Pass) countFight(d *desired, field children.Drift) {
	f := p.family
	f.mu.Lock()
	c, begins := d.kind.children[d.name], false
	if c != nil {
		if c.fight == nil {
			c.fight = &repeats{}
		}
		begins = c.fight.note(f.reconciler.deps.Now(), field.String(), fightCount)
		f.raise(c, c.fight, inspect.Alarm{Kind: inspect.AlarmFight, Field: field.Path, Manager: field.Manager})
	}
	f.mu.Unlock()
	if begins {
		text := fmt.Sprintf("Another manager changes a field of %s again and again: %s. Remove the field from one of the two, or set kopf.Own.Drift", d, field)
		if field == lostEntry {
			text = fmt.Sprintf("Another client clears the managedFields of %s again and again, and with them the record of the operator's fields. Stop that client", d)
		}
		p.subject.Logger.Warn(text, observe.EventKey, observe.LogDriftFight, "child", d.String(), "field", field.Path, "manager", field.Manager)
	}
}

// fightDelay returns a waiting error while a child must not be applied, because others undo each apply; otherwise nil.
func (p *Pass) fightDelay(d *desired, c *child) error {
	wait := c.fight.wait(p.family.reconciler.deps.Now())
	if wait == 0 {
		return nil
	}
	return handlers.AsWaiting(fmt.Errorf("%s: others change the same fields again and again (%s); the next attempt follows in %s",
		d, c.fight.about, wait.Round(time.Second)), wait)
}

// recreationDelay returns how long a child must not be deleted and created anew. Without this delay, a manifest with a time in an
// immutable field would cause endless re-creations.
func (p *Pass) recreationDelay(d *desired) time.Duration {
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	if r := d.kind.recreations[d.name]; r != nil {
		return r.wait(p.family.reconciler.deps.Now())
	}
	return 0
}

// noteRecreation counts the deletion of a child by kopf.Own.Recreate.
func (p *Pass) noteRecreation(d *desired, refusal error) {
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	k, now := d.kind, p.family.reconciler.deps.Now()
	if k.recreations == nil {
		k.recreations = map[childName]*repeats{}
	}
	maps.DeleteFunc(k.recreations, func(_ childName, r *repeats) bool { return r.ended(now, unstableCount) })
	if k.recreations[d.name] == nil {
		k.recreations[d.name] = &repeats{}
	}
	k.recreations[d.name].note(now, refusal.Error(), unstableCount)
}

// unstable has the desired objects of a child since the last change of its parent.
type unstable struct {
	texts   map[uint64]uint64 // hashes of the desired objects by [Pass.sight]
	newest  map[string]any    // newest desired object that differs from an earlier one for the same input; nil if there is none
	repeats repeats
}

// maxTexts limits the memory for a child whose desired object depends on the states of other children.
const maxTexts = 32

// noteText compares the sent object with earlier objects of the child. For the same input, the handler must want the same object.
// If the object has a time or a random value, each change of the child's status causes another write. Until the delays begin, only
// passes after a change of a child or a watched object count, because the handler may want another object in each pass by Recheck.
func (p *Pass) noteText(d *desired) {
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	c := d.kind.children[d.name]
	byChild := slices.ContainsFunc(p.wakes, func(w reasons.Wake) bool { return w.Child != nil })
	switch {
	case c == nil:
		return
	case p.Fresh():
		f.endUnstable(c)
		return
	case !byChild && (c.unstable == nil || c.unstable.repeats.delay == 0):
		return
	case c.unstable == nil || len(c.unstable.texts) == maxTexts:
		f.endUnstable(c)
		c.unstable = &unstable{texts: map[uint64]uint64{}}
	}
	u := c.unstable
	before, again := u.texts[p.sight]
	u.texts[p.sight] = d.hash
	if !again || before == d.hash {
		return
	}
	field := differing(u.newest, d.tree, d.to.lens.AppliedAnnotation)
	u.newest = d.tree
	begins := u.repeats.note(f.reconciler.deps.Now(), field, unstableCount)
	f.raise(c, &u.repeats, inspect.Alarm{Kind: inspect.AlarmUnstable, Field: field})
	if begins {
		p.subject.Logger.Warn(fmt.Sprintf("The handler wants a different object for %s again and again, although nothing has changed: %s. "+
			"Remove times and random values from it", d, field), observe.EventKey, observe.LogChildUnstable, "child", d.String(), "field", field)
	}
}

// differing returns the path of the first field in which two objects differ, except for the annotation with their hash; empty if
// there is none.
func differing(before, after map[string]any, hash string) string {
	for _, one := range object.ComputeDiff(before, after) {
		if one.Path[len(one.Path)-1] != hash {
			return one.Path.String()
		}
	}
	return ""
}

// hashSight returns a hash of the handler's input: the essence and the status of the parent, and the states of its children. The
// lock must be held.
func (p *parent) hashSight() uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, p.essence, " ", string(p.object.Member("status")))
	sum := h.Sum64()
	for c := range p.children { // the order is random, so the hashes are added
		d := c.judged(c.Digest)
		h.Reset()
		fmt.Fprintf(h, "%d %q %q %s %q %q", c.kind.order, d.Namespace(), d.Name, d.State, d.Message(), d.Observed())
		sum += h.Sum64()
	}
	return sum
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
	held   map[string]map[*parent]bool // parents that have kept children because of the brake, by the key of the children's resource

	released bool // a person has permitted all deletions until the next start
}

// braked reports whether a child must not be pruned now.
func (p *Pass) braked(d *desired) bool {
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	if !p.parent.braking || f.brake.released {
		return false
	}
	b, now := &f.brake, f.reconciler.deps.Now()
	if b.prunes == nil {
		b.prunes, b.pulled, b.held = map[*kind][]time.Time{}, map[*kind]bool{}, map[string]map[*parent]bool{}
	}
	recent := slices.DeleteFunc(b.prunes[d.kind], func(t time.Time) bool { return now.Sub(t) > brakeWindow })
	if !b.pulled[d.kind] && len(recent) < max(brakeAtLeast, len(d.kind.children)*brakePercent/100) {
		b.prunes[d.kind] = append(recent, now)
		return false
	}
	key := d.to.resource.Key()
	if b.held[key] == nil {
		b.held[key] = map[*parent]bool{}
	}
	if !b.held[key][p.parent] {
		b.held[key][p.parent] = true
		f.emitBrake(key)
	}
	if !b.pulled[d.kind] {
		b.pulled[d.kind] = true
		f.reconciler.deps.Logger.Error(fmt.Sprintf("Stopped the deletion of %s: %d were deleted within 10 minutes, although their parents have not changed since the start. "+
			"Roll the operator back or, if the deletion is intended, continue it with: kopf retry --brake", d.to.resource.Plural, len(recent)),
			observe.EventKey, observe.LogPruneStopped, "resource", d.to.resource.Key())
	}
	return true
}

// unbrake exempts a parent from the brake. The lock must be held.
func (f *family) unbrake(p *parent) {
	p.braking = false
	for resource, held := range f.brake.held {
		if held[p] {
			delete(held, p)
			f.emitBrake(resource)
		}
	}
}

// dropBrake ends the brake's alarm about a resource that the cluster no longer serves. The lock must be held.
func (f *family) dropBrake(resource string) {
	if len(f.brake.held[resource]) > 0 {
		delete(f.brake.held, resource)
		f.emitBrake(resource)
	}
}

// ReleaseBrake implements [core.Passes].
func (r *Reconciler) ReleaseBrake(resource string) {
	r.mu.Lock()
	families := slices.Collect(maps.Values(r.families))
	r.mu.Unlock()
	for _, f := range families {
		if resource == "" || resource == f.resource.Key() {
			f.releaseBrake()
		}
	}
}

// releaseBrake permits all deletions, and repeats the passes that the brake has stopped. Their writes are paced.
func (f *family) releaseBrake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.brake.released = true
	for _, held := range f.brake.held {
		for p := range held {
			f.unbrake(p)
			f.wake(p, reasons.Wake{Kind: inspect.WakeStart})
		}
	}
}

// uncount removes the last counted deletion from the brake, because the pace delayed the deletion, or the request failed.
func (p *Pass) uncount(d *desired) {
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	if counted := p.family.brake.prunes[d.kind]; p.parent.braking && len(counted) > 0 {
		p.family.brake.prunes[d.kind] = counted[:len(counted)-1]
	}
}

// countUnready sets the time from which [handlers.Owned.ReadyWithin] counts for a new version of a child. The time starts when the
// child becomes unready, or when the operator applies another object. The lock must be held.
func (f *family) countUnready(c *child, o *object.Object, initial bool) {
	previous := c.kind.children[c.name()]
	switch {
	case c.kind.owned.ReadyWithin == 0:
	case !c.Digest.Unready():
		c.unready = 0
	case c.unready == 0 || previous == nil || previous.Applied != c.Applied:
		since := f.reconciler.deps.Now()
		if initial {
			since = c.kind.lens.UnreadySince(o, since)
		}
		c.unready = since.UnixNano()
	}
}

// judged returns a version of a child with the state that all readers see: Failed if the child has not become ready in time. The
// lock must be held.
func (c *child) judged(version children.Digest) children.Digest {
	if due := c.due(); version.Unready() && !due.IsZero() && !c.kind.family.reconciler.deps.Now().Before(due) {
		return version.Late(c.kind.owned.ReadyWithin)
	}
	return version
}

// due returns the time at which the child's [handlers.Owned.ReadyWithin] ends; zero if the child is ready or there is no limit.
func (c *child) due() time.Time {
	if c.unready == 0 || c.kind.owned.ReadyWithin == 0 {
		return time.Time{}
	}
	return time.Unix(0, c.unready).Add(c.kind.owned.ReadyWithin)
}

// armReadiness starts the timer for a pass at the time when the first child becomes overdue. The lock must be held.
func (f *family) armReadiness(p *parent) {
	now := f.reconciler.deps.Now()
	var next time.Time
	for c := range p.children {
		if due := c.due(); due.After(now) && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	if !next.IsZero() {
		f.arm(p, inspect.WakeRecheck, next.Sub(now))
	}
}
