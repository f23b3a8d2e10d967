package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reasons"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// deleteRetry is the delay before another attempt to delete a parent's children after an error.
const deleteRetry = 5 * time.Second

// Delete implements [core.Passes]. It deletes the children elsewhere, and the children with [handlers.Owned.DeleteFirst], in the
// reverse order of the declarations.
func (r *Reconciler) Delete(ctx context.Context, b *core.Beginning) (left []string, err error) {
	unlisted := []string{"children that are not listed yet"}
	f := r.family(b.Key.Resource)
	if f == nil {
		return unlisted, nil // the operator no longer serves the resource
	}
	if fence.MayBegin(ctx) != nil {
		return unlisted, core.ErrStopping // an operator that may not act must not store the version, because it can be outdated after the pause
	}
	f.mu.Lock()
	parent := f.parentOf(b.Object.UID)
	parent.object, parent.outdated = b.Object.Detached(), false
	parent.wakes = reasons.List{{Kind: inspect.WakeObject}} // requeues the parent after the last list, if the deletion must wait for the list
	f.unbrake(parent)
	f.mu.Unlock()
	if !r.ready(f) {
		return unlisted, nil
	}
	f.mu.Lock()
	parent.disarm()
	p := &Pass{family: f, parent: parent, ctx: ctx, owner: b.Object, subject: b.Subject, wakes: parent.wakes}
	parent.wakes = nil
	f.mu.Unlock()
	left, err = p.deleteWave(p.guarded(ctx))
	after := pruned
	switch {
	case core.IsFenced(err), errors.Is(err, core.ErrStopping):
		return left, err
	case err != nil:
		after = deleteRetry
		p.subject.Logger.Warn(fmt.Sprintf("Cannot delete a child, so the parent keeps the finalizer; trying again in %s: %v", after, err),
			observe.EventKey, observe.LogChildStuck, "error", err)
	case len(left) == 0:
		p.reportKept()
		return nil, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.arm(parent, inspect.WakeRecheck, after)
	return left, nil
}

// maxNamed is the maximum number of children whose names deleteWave returns.
const maxNamed = 5

// deleteWave deletes the children of the last declared kind that still has children to delete. It returns the names of these children
// that still exist, or nil if there are no more children to delete.
func (p *Pass) deleteWave(ctx context.Context) (left []string, err error) {
	for _, wave := range p.waves(func(c *child) bool {
		if p.isElsewhere(c) {
			return c.kind.prunable()
		}
		return c.kind.owned.DeleteFirst // otherwise, the cluster deletes the child after the parent
	}) {
		p.setWaves(true) // before the first deletion, because its event can arrive before the answer
		var failed []error
		unnamed := 0
		for _, d := range wave {
			result, err := p.prune(ctx, d)
			switch {
			case core.IsFenced(err), errors.Is(err, core.ErrStopping):
				return nil, err
			case err == nil && result == pruneNothing:
			case len(left) == maxNamed:
				unnamed++
			default:
				left = append(left, d.String())
			}
			failed = append(failed, err)
		}
		if unnamed > 0 {
			left = append(left, fmt.Sprintf("%d more", unnamed))
		}
		if len(left) > 0 {
			return left, errors.Join(failed...)
		}
	}
	return nil, nil
}

// isElsewhere reports whether a child has no owner reference, so that the cluster does not delete the child with its parent.
func (p *Pass) isElsewhere(c *child) bool { return !p.references(c.kind, c.name()) }

// reportKept logs the children elsewhere that outlive the parent because their kinds are protected.
func (p *Pass) reportKept() {
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.kinds {
		if k.resource == nil || k.owned.Keep || k.prunable() {
			continue
		}
		for _, d := range p.candidates(k, p.isElsewhere) {
			p.subject.Logger.Warn(fmt.Sprintf("Left %s in the cluster, because its deletion would also delete data or other objects; "+
				"set kopf.Own.Prune to delete such children", d), observe.EventKey, observe.LogChildKept, "child", d.String())
		}
	}
}

// Kinds returns the kinds to record on the parent: the kinds of its children, and recorded kinds that the operator no longer
// declares. If the cluster serves all declared kinds, it warns once about each undeclared kind.
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
		if !unserved {
			p.undeclared = append(p.undeclared, name)
		}
		if !unserved && !slices.Contains(f.undeclared, name) {
			f.undeclared = append(f.undeclared, name)
			f.reconciler.deps.Logger.Warn(fmt.Sprintf("Children of kind %s from an earlier release may still exist, for example children of %s: "+
				"delete the children, or declare the kind with kopf.Own, so that passes prune the children", name, p.owner), observe.EventKey, observe.LogChildUndeclared,
				"resource", name)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
