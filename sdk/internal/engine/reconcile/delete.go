package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// deleteRetry is how long a deleted parent waits after a child could not be deleted.
const deleteRetry = 10 * time.Second

// Delete implements [core.Passes]. It deletes the children that the cluster does not delete, or not in the reverse order of the declarations.
func (r *Reconciler) Delete(ctx context.Context, b *core.Beginning) (gone bool, err error) {
	f := r.family(b.Key.Resource)
	if f == nil {
		return false, nil // the operator does not serve the resource any longer
	}
	f.mu.Lock()
	parent := f.parentOf(b.Object.UID)
	parent.object = b.Object.Detached()
	parent.wakes = []Wake{{Kind: WakeObject}} // requeues the parent after the last list, if it must wait for that
	parent.braking = false
	f.mu.Unlock()
	if !r.ready(f) {
		return false, nil
	}
	f.mu.Lock()
	parent.disarm()
	p := &Pass{family: f, parent: parent, ctx: ctx, owner: b.Object, subject: b.Subject, wakes: parent.wakes}
	parent.wakes = nil
	f.mu.Unlock()
	gone, err = p.deleteWaves(p.guarded(ctx))
	after := pruned
	switch {
	case core.IsFenced(err), errors.Is(err, core.ErrStopping):
		return false, err
	case err != nil:
		after = deleteRetry
		p.subject.Logger.Warn(fmt.Sprintf("Cannot delete a child, so the finalizer stays; trying again in %s: %v", after, err),
			observe.EventKey, observe.LogChildStuck, "error", err)
	case gone:
		p.reportKept()
		return true, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.arm(parent, WakeRecheck, after)
	return false, nil
}

// deleteWaves deletes the children of the last declared kind that has any. It reports whether none are left.
func (p *Pass) deleteWaves(ctx context.Context) (gone bool, err error) {
	for _, wave := range p.waves(func(c *child) bool { return p.isElsewhere(c) || c.kind.owned.DeleteFirst }) {
		p.setWaves(true) // before the first deletion, since its event can be faster than the answer
		going := false
		var failed []error
		for _, d := range wave {
			result, err := p.prune(ctx, d)
			if core.IsFenced(err) || errors.Is(err, core.ErrStopping) {
				return false, err
			}
			failed = append(failed, err)
			going = going || result == pruneGoing
		}
		if err := errors.Join(failed...); err != nil || going {
			return false, err
		}
	}
	return true, nil
}

// isElsewhere reports whether the cluster does not delete a child with its parent.
func (p *Pass) isElsewhere(c *child) bool { return !p.references(c.kind, c.name()) }

// reportKept logs the children of protected kinds that outlive the parent.
func (p *Pass) reportKept() {
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.kinds {
		if k.resource == nil || !protected(k.resource.Key()) || k.owned.Prune || k.owned.Keep {
			continue
		}
		for _, d := range p.candidates(k, p.isElsewhere) {
			p.subject.Logger.Warn(fmt.Sprintf("Left %s in the cluster, because its deletion would also delete data or other objects; "+
				"set kopf.Own.Prune to delete such children", d), observe.EventKey, observe.LogChildKept, "child", d.String())
		}
	}
}

// Kinds returns the kinds of the parent's children and, of the recorded kinds, those that the operator does not declare any
// longer. It warns once about each of these.
func (p *Pass) Kinds(recorded []string) []string {
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	var kinds []string
	for c := range p.parent.children {
		if !c.pruned {
			kinds = append(kinds, groupResource(c.kind.resource))
		}
	}
	for _, name := range recorded {
		declared, unserved := false, false
		for _, k := range f.kinds {
			unserved = unserved || k.resource == nil
			declared = declared || k.resource != nil && groupResource(k.resource) == name
		}
		if declared {
			continue
		}
		kinds = append(kinds, name)
		if !unserved && !slices.Contains(f.undeclared, name) {
			f.undeclared = append(f.undeclared, name)
			f.reconciler.deps.Logger.Warn(fmt.Sprintf("Children of kind %s from an earlier release are left, for example at %s: "+
				"delete the children, or declare their kind by kopf.Own, so that passes prune the children", name, p.owner), observe.EventKey, observe.LogChildUndeclared,
				"resource", name)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
