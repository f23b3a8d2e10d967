package reconcile

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func refOf(res *resources.Resource, name childName, uid string) inspect.KindRef {
	return inspect.KindRef{Kind: res.Kind, Ref: inspect.Ref{Resource: res.Key(), Namespace: name.namespace, Name: name.name, UID: uid}}
}

// publish reports the numbers of a parent's children, and a pass that has ended; nil if there is none. The lock must be held, so that
// the reports are in order.
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

// reports reports whether any subscriber receives the passes that have ended.
func (f *family) reports() bool {
	sink := f.reconciler.deps.Sink
	return sink.Wants(observe.KindChildrenChanged) || sink.Wants(observe.KindPassEnded)
}

// report publishes a pass that has ended, and returns it; nil without a subscriber. The lock must be held.
func (p *Pass) report(out handlers.Outcome) *observe.EndedPass {
	f := p.family
	if !f.reports() {
		return nil
	}
	now := f.reconciler.deps.Now()
	ended := &observe.EndedPass{Pass: inspect.Pass{
		Ended: now, Took: inspect.Duration(now.Sub(p.began)), Outcome: outcomeOf(out), Until: p.parent.due, Wakes: []inspect.Wake{}, Undeclared: p.undeclared,
	}}
	if out.Err != nil {
		ended.Message = p.subject.Secrets.Text(handlers.ErrorText(out.Err))
	}
	for _, w := range p.wakes {
		ended.Wakes = append(ended.Wakes, f.shownWake(w))
	}
	ended.Children = p.results()
	f.publish(p.parent, ended)
	return ended
}

func outcomeOf(out handlers.Outcome) inspect.PassOutcome {
	switch {
	case out.Waits:
		return inspect.PassWaiting
	case !out.Final:
		return inspect.PassRetrying
	case out.Err != nil:
		return inspect.PassFailed
	}
	return inspect.PassComplete
}

// maxShownChanges is the number of changed fields of a child that a report has.
const maxShownChanges = 20

// shownWake returns a reason for a pass without values to hide.
func (f *family) shownWake(w Wake) inspect.Wake {
	shown := inspect.Wake{Kind: w.Kind, Type: w.Type}
	if w.Child == nil {
		return shown
	}
	res := w.Child.Resource
	shown.Object = new(refOf(res, childName{w.Child.Namespace(), w.Child.Name}, w.Child.UID))
	changes := merged(w.Changes)
	changes = changes[max(0, len(changes)-maxShownChanges):]
	for _, item := range f.reconciler.deps.Settings.Redaction.Of(res).Diff(changes) {
		shown.Changes = append(shown.Changes, inspect.DiffItem{Op: inspect.DiffOp(item.Op), Path: item.Path.String(), Old: item.Old, New: item.New})
	}
	return shown
}

// merged returns one change for each path of consecutive diffs: from the first old value to the last new one.
func merged(changes object.Diff) object.Diff {
	var all object.Diff
	for _, item := range changes {
		i := slices.IndexFunc(all, func(o object.DiffItem) bool { return slices.Equal(o.Path, item.Path) })
		if i < 0 {
			all = append(all, item)
			continue
		}
		all[i].New = item.New
		switch {
		case item.New == nil:
			all[i].Op = object.DiffRemove
		case all[i].Old == nil:
			all[i].Op = object.DiffAdd
		default:
			all[i].Op = object.DiffChange
		}
	}
	return slices.DeleteFunc(all, func(item object.DiffItem) bool { return item.Old == nil && item.New == nil })
}

// concluded is the result of a pass for a child.
type concluded struct {
	at noted
	observe.PassedChild
}

// conclude notes the result of an apply for the report. The error is nil if the child is as it is desired.
func (p *Pass) conclude(d *desired, err error) {
	f := p.family
	if f.handler == nil || !f.reports() || core.IsFenced(err) || errors.Is(err, core.ErrStopping) {
		return
	}
	c := concluded{noted{d.kind, d.name}, observe.PassedChild{KindRef: refOf(d.to.resource, d.name, ""), Result: d.result, Judged: d.judged}}
	switch {
	case err == nil:
		c.Result = cmp.Or(c.Result, inspect.ResultUnchanged)
	case handlers.ErrorKindOf(err) == handlers.KindWaiting:
		c.Result = inspect.ResultAwaited
	default:
		c.Result = inspect.ResultRefused
	}
	if err != nil {
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

// results returns the results for the children, in the order of the applies. The lock must be held.
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
		case c.Result != inspect.ResultUnchanged: // otherwise, the first apply of the pass says more
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
			all = append(all, observe.PassedChild{KindRef: refOf(c.kind.resource, c.name(), c.UID), Exists: true})
		}
	}
	return all
}

// Children implements [core.Passes]. It reads the digests, so that the operator stores nothing for it.
func (r *Reconciler) Children(parent inspect.Ref, inspector *observe.Inspector) inspect.ChildList {
	r.mu.Lock()
	families := make([]*family, 0, len(r.families))
	for key, f := range r.families {
		if parent.Resource == "" || parent.Resource == key {
			families = append(families, f)
		}
	}
	r.mu.Unlock()
	var existing []inspect.Child
	for _, f := range families {
		existing = append(existing, f.list(parent.UID)...)
	}
	return join(existing, inspector.ChildNotes(parent))
}

// list returns the existing children of a parent, in the order of [inspect.ChildList]; with an empty UID, of all parents.
func (f *family) list(uid string) []inspect.Child {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []*child
	for _, k := range f.kinds {
		for _, c := range k.children {
			if k.resource != nil && (uid == "" || uid == c.Owner()) {
				found = append(found, c)
			}
		}
	}
	slices.SortFunc(found, func(a, b *child) int {
		return cmp.Or(strings.Compare(a.Owner(), b.Owner()), cmp.Compare(a.kind.order, b.kind.order),
			strings.Compare(a.Namespace(), b.Namespace()), strings.Compare(a.Name, b.Name))
	})
	list := make([]inspect.Child, len(found))
	for i, c := range found {
		d := c.judged(c.Digest)
		list[i] = inspect.Child{
			Parent: inspect.Ref{Resource: f.resource.Key(), UID: c.Owner()}, KindRef: refOf(c.kind.resource, c.name(), c.UID),
			State: inspect.ChildState(d.State.String()), Message: d.Message(), Since: c.since(), Applied: children.HashText(c.Applied),
		}
		if c.Entry == 0 {
			list[i].Applied = ""
		}
	}
	return list
}

// childStates are all states of children.
var childStates = []children.State{children.Ready, children.Progressing, children.Failed, children.Terminating, children.Unknown}

// ChildStates implements [core.Passes]. It reads the digests, so that the numbers are right without a report for each change.
func (r *Reconciler) ChildStates() map[string]map[string]int {
	r.mu.Lock()
	families := slices.Collect(maps.Values(r.families))
	r.mu.Unlock()
	all := map[string]map[string]int{}
	for _, f := range families {
		f.countStates(all)
	}
	return all
}

func (f *family) countStates(all map[string]map[string]int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.kinds {
		if k.resource == nil || f.handler == nil {
			continue
		}
		key := k.resource.Key()
		if all[key] == nil {
			all[key] = map[string]int{}
			for _, state := range childStates {
				all[key][state.String()] = 0
			}
		}
		for _, c := range k.children {
			all[key][c.judged(c.Digest).State.String()]++
		}
	}
}

// since returns the time of the last change of the state; zero if the state is older than the process.
func (c *child) since() time.Time {
	if c.turned == 0 {
		return time.Time{}
	}
	return time.Unix(0, c.turned)
}

// join adds the results of the last passes to the existing children, and the children that do not exist. Children without notes
// about their parent are orphans.
func join(existing []inspect.Child, notes map[inspect.Ref]observe.ChildNotes) inspect.ChildList {
	type parentKey struct{ resource, uid string }
	byParent := map[parentKey][]inspect.Child{}
	for _, c := range existing {
		key := parentKey{c.Parent.Resource, c.Parent.UID}
		byParent[key] = append(byParent[key], c)
	}
	list := inspect.ChildList{Children: []inspect.Child{}}
	add := func(children []inspect.Child) {
		kept, omitted := shortened(children)
		list.Children = append(list.Children, kept...)
		list.Omitted += omitted
	}
	for parent, noted := range notes {
		key := parentKey{parent.Resource, parent.UID}
		add(withResults(parent, byParent[key], noted))
		delete(byParent, key)
	}
	for _, orphans := range byParent {
		add(orphans)
	}
	slices.SortStableFunc(list.Children, func(a, b inspect.Child) int {
		return cmp.Or(strings.Compare(a.Parent.Resource, b.Parent.Resource), strings.Compare(a.Parent.Namespace, b.Parent.Namespace),
			strings.Compare(a.Parent.Name, b.Parent.Name), strings.Compare(a.Parent.UID, b.Parent.UID))
	})
	return list
}

// withResults returns the children of an object: the existing ones with the results of the last pass, then those that do not exist.
func withResults(parent inspect.Ref, existing []inspect.Child, notes observe.ChildNotes) (list []inspect.Child) {
	missing := maps.Clone(notes.Of)
	for _, c := range existing {
		c.Parent = parent
		key := observe.ChildKeyOf(c.Ref)
		note, noted := notes.Of[key]
		switch {
		case noted:
			c.Result, c.Error, c.Drift = note.Result, note.Error, note.Drift
		case notes.Passed && !notes.Cut && c.Applied != "":
			c.Result = inspect.ResultUnchanged
		}
		delete(missing, key)
		list = append(list, c)
	}
	gone := slices.SortedFunc(maps.Values(missing), func(a, b observe.ChildNote) int {
		return cmp.Or(strings.Compare(a.Resource, b.Resource), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, note := range gone {
		c := inspect.Child{Parent: parent, KindRef: note.KindRef, Result: note.Result, Error: note.Error}
		switch {
		case note.Result == inspect.ResultPruned:
			c.Since = note.At
		case note.Exists: // it was deleted after the pass
			continue
		}
		list = append(list, c)
	}
	return list
}

// shortened returns the children with the greatest need of attention, in their order.
func shortened(list []inspect.Child) (kept []inspect.Child, omitted int) {
	if omitted = len(list) - inspect.MaxChildren; omitted <= 0 {
		return list, 0
	}
	places := make([]int, 0, len(list))
	for _, ready := range []bool{false, true} {
		for at := range list {
			if (list[at].State == inspect.ChildReady) == ready {
				places = append(places, at)
			}
		}
	}
	places = places[:inspect.MaxChildren]
	slices.Sort(places)
	for _, at := range places {
		kept = append(kept, list[at])
	}
	return kept, omitted
}
