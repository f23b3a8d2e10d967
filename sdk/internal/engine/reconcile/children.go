package reconcile

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reasons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/shown"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func nameOf(o *object.Object) childName { return childName{o.Namespace, o.Name} }

// describe returns a version of a child for the handler, with the state that all readers see. The lock must be held.
func (f *family) describe(k *kind, d children.Digest) *reasons.Child {
	if c := k.children[childName{d.Namespace(), d.Name}]; c != nil && c.UID == d.UID {
		d = c.judged(d)
	}
	lens := k.lens // a definition can change while a handler reads the child
	return &reasons.Child{Resource: k.resource, Digest: d, Lens: &lens}
}

// served implements [source].
func (k *kind) served() *resources.Resource { return k.resource }

// sharded implements [source].
func (k *kind) sharded() bool { return true }

// scopes implements [source].
func (k *kind) scopes(namespaces []string) []string {
	return scopesOf(k.family.resource, k.resource, k.owned.Elsewhere, namespaces)
}

// configure implements [source].
func (k *kind) configure(o *watch.Options) {
	o.LabelSelector, o.KeepManagedFields, o.Keep = ownedByLabel+"="+k.family.label, true, k.keeps()
	if lens := k.lens; lens.MetadataOnly() {
		o.MetadataOnly, o.Reduce = true, lens.Reduce
	}
}

// observe implements [source].
func (k *kind) observe(_ context.Context, event watch.Event, initial bool) {
	f := k.family
	f.mu.Lock()
	defer f.mu.Unlock()
	if k.resource == nil {
		return // the cluster no longer serves the kind
	}
	name := nameOf(event.Object)
	before := k.children[name]
	if event.Type == watch.Deleted {
		if before == nil || before.UID != event.Object.UID || object.Precedes(event.Object.ResourceVersion, before.ResourceVersion) {
			return
		}
		f.remove(k, name)
		p := f.parents[before.Owner()]
		if before.pruned && (p == nil || !p.waves) {
			f.publish(p, nil)
			return
		}
		f.changed(k, before.Digest, children.Digest{}, watch.Deleted)
		return
	}
	if before != nil && (before.UID == event.Object.UID && !object.Older(before.ResourceVersion, event.Object.ResourceVersion) ||
		object.Precedes(event.Object.ResourceVersion, before.ResourceVersion)) {
		return // the operator already knows this or a newer version, for example from the answer to its own write
	}
	now, err := k.lens.Digest(event.Object)
	if err != nil {
		f.reconciler.deps.Logger.Warn("Cannot read a child; ignoring this version", observe.EventKey, observe.LogChildUnreadable,
			"child", event.Object.String(), "error", err)
		return
	}
	if before != nil && before.UID != now.UID {
		f.remove(k, name)
		f.changed(k, before.Digest, children.Digest{}, watch.Deleted)
		before = nil
	}
	c := f.store(k, name, now, event.Object, initial)
	if now.Entry != c.verified || now.Entry == 0 {
		c.managed = k.lens.ManagedFields(event.Object, initial)
	}
	switch {
	case before == nil && initial:
	case before == nil:
		f.changed(k, children.Digest{}, now, watch.Added)
	default:
		f.compare(c, before.Digest)
	}
}

// store replaces the digest of a child, and returns a new child, so that the previous one stays as it was. The new one has no
// managedFields.
func (f *family) store(k *kind, name childName, d children.Digest, o *object.Object, initial bool) *child {
	c := &child{Digest: d, kind: k}
	if before := k.children[name]; before != nil {
		delete(f.parentOf(before.Owner()).children, before)
		if before.UID == d.UID {
			c.unready = before.unready
			c.verified, c.verify, c.pruned = before.verified, before.verify, before.pruned
			c.fight, c.unstable = before.fight, before.unstable
			f.noteReady(before, c)
		}
	}
	f.countUnready(c, o, initial)
	switch before := k.children[name]; {
	case before != nil && before.UID == d.UID && before.State == d.State:
		c.turned = before.turned
	case !initial:
		c.turned = f.reconciler.deps.Now().UnixNano()
	}
	k.children[name] = c
	p := f.parentOf(d.Owner())
	c.SetOwner(p.uid)
	p.children[c] = struct{}{}
	return c
}

// noteReady logs that a child has become ready. It logs nothing about a child that was ready at its creation. The lock must be held.
func (f *family) noteReady(before, now *child) {
	p := f.parents[now.Owner()]
	if before.State == children.Ready || now.State != children.Ready || p == nil || p.object == nil {
		return
	}
	name := f.describe(now.kind, now.Digest).String()
	f.reconciler.deps.ObjectLogger(f.resource, p.object).Info(name+" is ready", observe.EventKey, observe.LogChildReady, "child", name)
}

// remove removes a child from the known children. The lock must be held.
func (f *family) remove(k *kind, name childName) {
	c := k.children[name]
	if c == nil {
		return
	}
	f.endAlarms(c)
	delete(k.children, name)
	owner := c.Owner()
	p := f.parents[owner]
	delete(p.children, c)
	if len(p.children) == 0 && p.object == nil {
		delete(f.parents, owner)
	}
}

// retain implements [source].
func (k *kind) retain(scope string, listed map[childName]bool) {
	f := k.family
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, c := range k.children {
		if !listed[name] && (scope == "" || scope == name.namespace) {
			f.remove(k, name)
			f.changed(k, c.Digest, children.Digest{}, watch.Deleted)
		}
	}
}

// compare wakes the parent if the new version of a child needs a pass. The lock must be held.
func (f *family) compare(c *child, before children.Digest) {
	switch c.Digest.Wake(&before) {
	case children.NoWake:
	case children.WakeVerify:
		c.verify = true
		f.changed(c.kind, before, c.Digest, watch.Modified)
	case children.WakeParent:
		c.verify = c.verify || c.Generation != before.Generation // the write may also have changed applied fields unnoticed
		f.changed(c.kind, before, c.Digest, watch.Modified)
	}
}

// changed wakes the parent of a child and, if the label with its UID was changed, also the previous parent. During a pass, it only
// notes the previous version, because the pass itself may have made the change. The lock must be held.
func (f *family) changed(k *kind, before, now children.Digest, event string) {
	latest := now
	if event == watch.Deleted {
		latest = before
	}
	owners := []string{latest.Owner()}
	if previous := before.Owner(); event == watch.Modified && previous != owners[0] {
		owners = append(owners, previous)
	}
	for _, uid := range owners {
		p := f.parents[uid]
		f.publish(p, nil)
		if p == nil || p.object == nil || p.object.Deleting && !(p.waves && event == watch.Deleted) {
			continue // the parent's first pass reads all children, and a deleted parent has no passes
		}
		if p.pass != nil {
			p.pass.note(k, childName{latest.Namespace(), latest.Name}, before)
			continue
		}
		f.wake(p, f.wakeFor(k, before, now, latest, event))
	}
}

// wakeFor returns the reason for a pass after an event of a child. For a modified child, it compares the two versions.
func (f *family) wakeFor(k *kind, before, now, latest children.Digest, event string) reasons.Wake {
	w := reasons.Wake{Kind: inspect.WakeChild, Type: event, Child: f.describe(k, latest)}
	if event != watch.Modified {
		return w
	}
	if now.Wake(&before) == children.WakeVerify {
		w.Patient = true
		w.Kind = inspect.WakeVerify
		return w
	}
	w.Patient = k.lens.IsProgress(&before, &now)
	changes, err := k.lens.Changes(&before, &now)
	if err == nil {
		w.Changes = changes
	}
	return w
}

// Child returns the known child with the kind and the name of an object; nil if there is none.
func (p *Pass) Child(obj metav1.Object) *reasons.Child {
	k, to, err := p.kindOf(obj)
	if err != nil {
		return nil
	}
	name := childName{obj.GetNamespace(), cmp.Or(obj.GetName(), p.owner.Name)}
	if to.resource.Namespaced && name.namespace == "" {
		name.namespace = p.owner.Namespace
	}
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	if c := k.children[name]; c != nil && c.Owner() == p.owner.UID {
		return p.family.describe(k, c.Digest)
	}
	return nil
}

// Children returns the known children of a resource, sorted by namespace and name.
func (p *Pass) Children(resource resources.Selector) []*reasons.Child {
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	var all []*reasons.Child
	for c := range p.parent.children {
		if c.kind.owned.Selector == resource {
			all = append(all, p.family.describe(c.kind, c.Digest))
		}
	}
	slices.SortFunc(all, func(a, b *reasons.Child) int {
		return cmp.Or(strings.Compare(a.Namespace(), b.Namespace()), strings.Compare(a.Name, b.Name))
	})
	return all
}

// Children implements [core.Passes].
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
	return shown.Join(existing, inspector.ChildNotes(parent))
}

// list returns the existing children of a parent, or of all parents if the UID is empty, in the order of [inspect.ChildList].
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
			Parent: inspect.Ref{Resource: f.resource.Key(), UID: c.Owner()}, KindRef: shown.Ref(c.kind.resource, c.Namespace(), c.Name, c.UID),
			State: inspect.ChildState(d.State.String()), Message: d.Message(), Since: c.since(), Applied: children.HashText(c.Applied),
		}
		if c.Entry == 0 {
			list[i].Applied = ""
		}
	}
	return list
}

// childStates are the states that [Reconciler.ChildStates] counts.
var childStates = []children.State{children.Ready, children.Progressing, children.Failed, children.Terminating, children.Unknown}

// ChildStates implements [core.Passes].
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

// since returns the time of the last change of the child's state; zero if the state is older than the process.
func (c *child) since() time.Time {
	if c.turned == 0 {
		return time.Time{}
	}
	return time.Unix(0, c.turned)
}
