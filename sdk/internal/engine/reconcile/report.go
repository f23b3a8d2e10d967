package reconcile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/shown"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// publish emits the numbers of a parent's children, and the pass that has just ended; nil if none has. The lock must be held, so
// that the events are in order.
func (f *family) publish(p *parent, ended *observe.EndedPass) {
	if p == nil || p.object == nil || !f.reconciler.deps.Sink.Wants(observe.KindChildrenChanged) {
		return
	}
	e := observe.ChildrenChanged{Resource: f.resource.Key(), Parent: p.object, Pass: ended}
	for c := range p.children {
		if c.pruned {
			continue
		}
		e.Existing.Total++
		switch c.judged(c.Digest).State {
		case children.Ready:
			e.Existing.Ready++
		case children.Failed:
			e.Existing.Failed++
		default:
		}
	}
	observe.Emit(f.reconciler.deps.Sink, e)
}

// reports reports whether a subscriber wants the results of passes.
func (f *family) reports() bool {
	sink := f.reconciler.deps.Sink
	return sink.Wants(observe.KindChildrenChanged) || sink.Wants(observe.KindPassEnded)
}

// report publishes the ended pass, and returns it; nil without a subscriber. The lock must be held.
func (p *Pass) report(out handlers.Outcome) *observe.EndedPass {
	f := p.family
	if !f.reports() {
		return nil
	}
	now := f.reconciler.deps.Now()
	ended := &observe.EndedPass{Pass: inspect.Pass{
		Version: p.owner.ResourceVersion, Ended: now, Took: inspect.Duration(now.Sub(p.began)), Outcome: shown.Outcome(out), Until: p.parent.due, Wakes: []inspect.Wake{}, Undeclared: p.undeclared, Unserved: p.unserved,
	}}
	if out.Err != nil {
		ended.Message = p.subject.Secrets.Text(handlers.ErrorText(out.Err))
	}
	for _, w := range p.wakes {
		ended.Wakes = append(ended.Wakes, shown.Wake(w, &f.reconciler.deps.Settings.Redaction))
	}
	ended.Children = p.results()
	f.publish(p.parent, ended)
	return ended
}

// concluded is the result of an apply or a deletion for a child.
type concluded struct {
	at noted
	observe.PassedChild
}

// leftOut reports whether the pass has left children of an optional kind out.
func (p *Pass) leftOut(k *kind) bool { return slices.Contains(p.unserved, k.owned.Selector.String()) }

// leaveOut records that the pass leaves children of an optional kind out, because the cluster does not serve the kind. It logs a
// line for the first pass.
func (p *Pass) leaveOut(k *kind) {
	if p.leftOut(k) {
		return
	}
	name := k.owned.Selector.String()
	p.unserved = append(p.unserved, name)
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	if !k.leftOut {
		k.leftOut = true
		f.reconciler.deps.Logger.Info(fmt.Sprintf("The cluster does not serve %s: leaving out the children of this optional kind until it does", name),
			observe.EventKey, observe.LogChildUnserved, "resource", name)
	}
}

// conclude records the result of an apply for the report. The error is nil if the child is in its desired state.
func (p *Pass) conclude(d *desired, err error) {
	f := p.family
	if f.handler == nil || !f.reports() || core.IsFenced(err) || errors.Is(err, core.ErrStopping) {
		return
	}
	c := concluded{noted{d.kind, d.name}, observe.PassedChild{KindRef: shown.Ref(d.to.resource, d.name.namespace, d.name.name, ""), Result: d.result, Judged: d.judged}}
	if c.Result = cmp.Or(c.Result, inspect.ResultUnchanged); err != nil {
		c.Result = resultOf(err)
		c.Error = p.subject.Secrets.Text(f.reconciler.deps.Settings.Redaction.Of(d.to.resource).Text(handlers.ErrorText(err), d.created))
	}
	now := f.reconciler.deps.Now()
	for _, one := range d.taken {
		c.Drift = append(c.Drift, inspect.FieldDrift{Path: one.Path, Manager: one.Manager, Scale: one.Scaled(), At: now, Outcome: inspect.DriftReverted})
	}
	for _, one := range d.left {
		outcome := inspect.DriftYielded
		if d.kind.owned.Drift == handlers.DriftReport && !one.Scaled() {
			outcome = inspect.DriftReported
		}
		c.Drift = append(c.Drift, inspect.FieldDrift{Path: one.Path, Manager: one.Manager, Scale: one.Scaled(), At: now, Outcome: outcome})
	}
	p.concluded = append(p.concluded, c)
}

// resultOf returns the result of a failed apply. Failures that say nothing about the child are no refusals, such as a lost answer.
func resultOf(err error) inspect.ChildResult {
	switch handlers.ErrorKindOf(err) {
	case handlers.KindWaiting:
		return inspect.ResultAwaited
	case handlers.KindTemporary:
		switch kube.Classify(err) {
		case kube.Unclassified, kube.Transient, kube.TooManyRequests:
			return inspect.ResultAwaited
		default:
		}
	default:
	}
	return inspect.ResultRefused
}

// results returns the results for applied children in the order of the applies, then for pruned and for other children. The lock
// must be held.
func (p *Pass) results() []observe.PassedChild {
	var all []observe.PassedChild
	places := map[noted]int{}
	for _, c := range p.concluded {
		known := c.at.kind.children[c.at.name]
		if c.Exists = known != nil && known.Owner() == p.owner.UID; c.Exists {
			c.UID = known.UID
		}
		i, again := places[c.at]
		switch {
		case !again:
			places[c.at] = len(all)
			all = append(all, c.PassedChild)
		case c.Result != inspect.ResultUnchanged: // an apply without a change must not replace the result of the first apply
			c.Drift = append(all[i].Drift, c.Drift...)
			all[i] = c.PassedChild
		}
	}
	for _, c := range p.gone {
		places[c.at] = len(all)
		all = append(all, c.PassedChild)
	}
	for c := range p.parent.children {
		if _, done := places[noted{c.kind, c.name()}]; !done && !c.pruned {
			all = append(all, observe.PassedChild{KindRef: shown.Ref(c.kind.resource, c.Namespace(), c.Name, c.UID), Exists: true})
		}
	}
	return all
}

// alarm is a published alarm about the repeated writes of a child.
type alarm struct {
	inspect.Alarm
	timer *time.Timer
	over  bool
}

// raise publishes an alarm about a child, or updates a published one. The alarm ends if the next write does not come in time,
// because its cause has then ended. The lock must be held.
func (f *family) raise(c *child, r *repeats, a inspect.Alarm) {
	p := f.parents[c.Owner()]
	if r.delay == 0 || p == nil || p.object == nil {
		return
	}
	if r.alarm != nil {
		r.alarm.timer.Stop()
		r.alarm.over = true // its timer may be waiting for the lock
	}
	a.Since, a.Count = f.reconciler.deps.Now(), len(r.last)
	a.Object = &inspect.Ref{Resource: f.resource.Key(), Namespace: p.object.Namespace, Name: p.object.Name, UID: p.object.UID}
	a.Child = new(shown.Ref(c.kind.resource, c.Namespace(), c.Name, c.UID))
	raised := &alarm{Alarm: a}
	raised.timer = time.AfterFunc(max(repeatsWithin, 2*r.delay), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.end(raised)
	})
	r.alarm = raised
	f.emitAlarm(a, false)
}

// end ends an alarm about a child. It does nothing for nil. The lock must be held.
func (f *family) end(a *alarm) {
	if a != nil && !a.over {
		a.timer.Stop()
		a.over = true
		f.emitAlarm(a.Alarm, true)
	}
}

// endUnstable forgets the earlier desired objects of a child, and ends the alarm about them. The lock must be held.
func (f *family) endUnstable(c *child) {
	if c.unstable != nil {
		f.end(c.unstable.repeats.alarm)
		c.unstable = nil
	}
}

// endAlarms ends the alarms about a child that no longer exists, or whose parent was forgotten. The lock must be held.
func (f *family) endAlarms(c *child) {
	if c.fight != nil {
		f.end(c.fight.alarm)
	}
	f.endUnstable(c)
}

// emitAlarm publishes a change of an alarm that the operator has already logged. The lock must be held.
func (f *family) emitAlarm(a inspect.Alarm, over bool) {
	observe.Emit(f.reconciler.deps.Sink, observe.AlarmChanged{Alarm: a, Over: over, Again: true, Logger: f.reconciler.deps.Logger})
}

// emitBrake publishes the alarm about children of a resource that the brake keeps. The alarm is over if no parent has such
// children. The lock must be held.
func (f *family) emitBrake(resource string) {
	held := len(f.brake.held[resource])
	f.emitAlarm(inspect.Alarm{
		Kind: inspect.AlarmBrake, Since: f.reconciler.deps.Now(), Object: &inspect.Ref{Resource: f.resource.Key()}, Resource: resource, Count: held,
	}, held == 0)
}
