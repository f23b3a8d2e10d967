package reconcile

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reasons"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Pass is one call of a reconcile handler. Its methods must not be called concurrently.
type Pass struct {
	family  *family
	parent  *parent
	ctx     context.Context // context of the cycle, with its fence
	owner   *object.Object
	subject *observe.Subject
	wakes   reasons.List
	saved   reasons.Budget // budget of the parent before the pass
	sight   uint64         // hash of the handler's input at the beginning of the pass; 0 if all reasons are WakeStart

	applied map[*kind]map[childName]bool // children that the pass has applied; nil before the first call of Apply
	refused bool                         // a call of Apply failed, so that nothing is pruned even if the handler returns nil
	recheck time.Duration                // shortest time of the calls of Recheck; 0 without a call

	noted map[noted]children.Digest // versions of children to compare with the newest versions at the end of the pass

	rehearsal *Rehearsal // nil in an operator

	// For the report: see [Pass.report].
	began      time.Time
	concluded  []concluded // results of the applies
	gone       []concluded // pruned children
	undeclared []string    // recorded kinds without a declaration
	unserved   []string    // optional kinds whose children the pass has left out
}

// noted identifies a child, whether or not it exists.
type noted struct {
	kind *kind
	name childName
}

// Due implements [core.Passes].
func (r *Reconciler) Due(ctx context.Context, b *core.Beginning) bool {
	f := r.family(b.Key.Resource)
	if f == nil || fence.MayBegin(ctx) != nil { // an operator that may not act must not store the version, because it can be outdated after the pause
		return false
	}
	f.arrive(b)
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.parentOf(b.Object.UID)
	now := r.deps.Now()
	return len(p.wakes) > 0 && !p.retriesLater(b, now) && !p.waitsForBudget(now)
}

// Begin implements [core.Passes]. If no pass is due, it returns a nil interface.
func (r *Reconciler) Begin(ctx context.Context, b *core.Beginning) core.Pass {
	if pass := r.begin(ctx, b); pass != nil {
		return pass
	}
	return nil
}

// begin returns the pass that is due for an object; nil if none is.
func (r *Reconciler) begin(ctx context.Context, b *core.Beginning) *Pass {
	f := r.family(b.Key.Resource)
	if f == nil || fence.MayBegin(ctx) != nil {
		return nil
	}
	if !r.ready(f) { // checked after the version was stored: the end of the last list requeues the parents that have reasons
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.parents[b.Object.UID]
	if p == nil || len(p.wakes) == 0 { // nil if the object was forgotten after Due
		return nil
	}
	if now := r.deps.Now(); p.retriesLater(b, now) {
		f.arm(p, inspect.WakeRetry, b.RetryAt.Sub(now))
		return nil
	}
	if f.postpone(p) {
		return nil
	}
	p.disarm()
	p.pass = &Pass{family: f, parent: p, ctx: ctx, owner: b.Object, subject: b.Subject, wakes: p.wakes, saved: p.budget, began: r.deps.Now()}
	p.budget.Spend(r.deps.Now())
	if slices.ContainsFunc(p.wakes, func(w reasons.Wake) bool { return w.Kind != inspect.WakeStart }) {
		p.pass.sight = p.hashSight() + f.hashWatched(b.Object.UID)
	}
	p.wakes, p.begun = nil, true
	return p.pass
}

// arrive stores the newest state of a parent, and adds the reasons for a pass that the cycle has found.
func (f *family) arrive(b *core.Beginning) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.parentOf(b.Object.UID)
	known, follows := p.object != nil, f.follow(b.Object)
	p.object, p.outdated = b.Object.Detached(), false
	switch {
	case !known && b.Listed:
		p.wakes.Add(reasons.Wake{Kind: inspect.WakeStart})
		p.braking = true
	case !known, p.essence != b.Essence, follows:
		p.wakes.Add(reasons.Wake{Kind: inspect.WakeObject})
		f.unbrake(p)
	}
	p.essence = b.Essence
	if b.Requested {
		p.wakes.Add(reasons.Wake{Kind: inspect.WakeRequest})
		f.unbrake(p)
	}
}

// Abort ends a pass without an outcome, because the operator may not act now. The next pass has the same reasons again.
func (p *Pass) Abort() {
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	later := p.parent.wakes
	p.parent.wakes, p.parent.pass, p.parent.budget = p.wakes, nil, p.saved
	for _, w := range later {
		p.parent.wakes.Add(w)
	}
}

// End ends a pass with the outcome of the handler. It starts the timers for a retry or a recheck, requeues the parent if there are
// new reasons for a pass, and publishes the result.
func (p *Pass) End(out handlers.Outcome) {
	if ended := p.end(out); ended != nil {
		observe.Emit(p.family.reconciler.deps.Sink, observe.PassEnded{Resource: p.family.resource.Key(), Pass: ended})
	}
}

func (p *Pass) end(out handlers.Outcome) *observe.EndedPass {
	f, parent := p.family, p.parent
	f.mu.Lock()
	defer f.mu.Unlock()
	parent.pass, parent.failed = nil, out.Final && out.Err != nil
	for at, before := range p.noted {
		p.settle(at, before)
	}
	switch {
	case out.Waits && out.Delay != nil:
		f.arm(parent, inspect.WakeRecheck, *out.Delay)
	case !out.Final && !out.Waits && out.Delay != nil:
		f.arm(parent, inspect.WakeRetry, *out.Delay)
	case !out.Final && !out.Waits:
		parent.wakes.Add(reasons.Wake{Kind: inspect.WakeRetry})
	}
	if p.recheck > 0 {
		f.arm(parent, inspect.WakeRecheck, p.recheck)
	}
	f.armReadiness(parent)
	if len(parent.wakes) > 0 && !f.postpone(parent) {
		f.requeue(parent)
	}
	return p.report(out)
}

// settle adds a reason for a pass if the newest version of a child needs a pass, compared with its noted version. The lock must be
// held.
func (p *Pass) settle(at noted, before children.Digest) {
	now := at.kind.children[at.name]
	switch {
	case now == nil && before.UID == "":
	case now == nil:
		p.parent.wakes.Add(reasons.Wake{Kind: inspect.WakeChild, Type: watch.Deleted, Child: p.family.describe(at.kind, before)})
	case now.ResourceVersion == before.ResourceVersion:
	case before.UID != now.UID:
		p.parent.wakes.Add(reasons.Wake{Kind: inspect.WakeChild, Type: watch.Added, Child: p.family.describe(at.kind, now.Digest)})
	default:
		if wake := now.Digest.Wake(&before); wake != children.NoWake {
			now.verify = now.verify || wake == children.WakeVerify || now.Generation != before.Generation
			p.parent.wakes.Add(p.family.wakeFor(at.kind, before, now.Digest, now.Digest, watch.Modified))
		}
	}
}

// note records the version of a child before a change during the pass. It keeps an already noted version, which is older or is the
// answer to the pass's own write. The lock must be held.
func (p *Pass) note(k *kind, name childName, before children.Digest) {
	at := noted{k, name}
	if _, known := p.noted[at]; known {
		return
	}
	if p.noted == nil {
		p.noted = map[noted]children.Digest{}
	}
	p.noted[at] = before
}

// Update sets the version of the parent that the cycle has made, so that the next pass needs not read it.
func (r *Reconciler) Update(key queue.Key, newest *object.Object) {
	f := r.family(key.Resource)
	if f == nil || newest == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.parents[newest.UID]; p != nil && p.object != nil {
		p.object = newest.Detached()
	}
}

// Outdate implements [core.Passes]. A new parent has a reason for a pass anyway.
func (r *Reconciler) Outdate(key queue.Key) {
	f := r.family(key.Resource)
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.parents[key.Object]; p != nil && p.object != nil {
		p.wakes.Add(reasons.Wake{Kind: inspect.WakeStart})
	}
}

// Failed implements [core.Passes].
func (r *Reconciler) Failed() (keys []queue.Key) {
	r.mu.Lock()
	families := maps.Clone(r.families)
	r.mu.Unlock()
	for resource, f := range families {
		f.mu.Lock()
		for uid, p := range f.parents {
			if p.failed {
				keys = append(keys, queue.Key{Resource: resource, Object: uid})
			}
		}
		f.mu.Unlock()
	}
	return keys
}

// FailedObject implements [core.Passes].
func (r *Reconciler) FailedObject(key queue.Key) *object.Object {
	f := r.family(key.Resource)
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.parents[key.Object]; p != nil && p.failed && !p.outdated {
		return p.object
	}
	return nil
}

// Wakes returns the reasons for the pass, the oldest first.
func (p *Pass) Wakes() []reasons.Wake { return p.wakes }

// Recheck requests another pass after a time. The shortest time of several calls counts.
func (p *Pass) Recheck(after time.Duration) {
	if p.recheck == 0 || after < p.recheck {
		p.recheck = max(after, time.Millisecond)
	}
}

// mayAct returns an error if the operator may not act on the parent now.
func (p *Pass) mayAct() error {
	if fence.MayBegin(p.ctx) != nil {
		return core.ErrStopping
	}
	return nil
}

// guarded returns a context for the requests of a pass: the caller's context, which the handler may have replaced, with the
// fence of the cycle.
func (p *Pass) guarded(ctx context.Context) context.Context { return fence.Carry(ctx, p.ctx) }

// Fresh reports whether the parent has changed since the last pass, so that the attempts start at zero.
func (p *Pass) Fresh() bool {
	return slices.ContainsFunc(p.wakes, func(w reasons.Wake) bool { return w.Kind == inspect.WakeObject })
}

// Health returns the health of the children that the pass has applied or, without a call of Apply, of all children. It returns
// false if a paced write has ended the pass early.
func (p *Pass) Health(err error) (core.Health, bool) {
	if errors.Is(err, errPaced) {
		return core.Health{}, false
	}
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	type judged struct {
		kind *kind
		children.Digest
	}
	var unready []judged
	for c := range p.parent.children {
		if c.State != children.Ready && (p.applied == nil || p.applied[c.kind][c.name()]) {
			unready = append(unready, judged{c.kind, c.judged(c.Digest)})
		}
	}
	if len(unready) == 0 {
		return core.Health{}, true
	}
	first := slices.MinFunc(unready, func(a, b judged) int {
		return cmp.Or(cmp.Compare(failedFirst(a.State), failedFirst(b.State)), cmp.Compare(a.kind.order, b.kind.order),
			strings.Compare(a.Namespace(), b.Namespace()), strings.Compare(a.Name, b.Name))
	})
	kind := first.kind.owned.Selector.String()
	if res := first.kind.resource; res != nil {
		kind = res.Kind
	}
	return core.Health{
		Unready: kind + " " + first.Name + ": " + cmp.Or(first.Message(), first.State.String()), Failed: first.State == children.Failed,
	}, true
}

// failedFirst returns a sort key that puts failed children first.
func failedFirst(s children.State) int {
	if s == children.Failed {
		return 0
	}
	return 1
}

// requeued returns the event with which the queue processes a parent again.
func requeued(o *object.Object) watch.Event { return watch.Event{Type: watch.Modified, Object: o} }
