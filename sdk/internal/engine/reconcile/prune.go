package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/engine/shown"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// protected reports whether a deletion of the resource's objects also deletes other objects or data. The operator deletes children
// of protected kinds only with kopf.Own.Prune.
func protected(resource string) bool {
	switch resource {
	case "namespaces.v1", "persistentvolumeclaims.v1", "customresourcedefinitions.v1.apiextensions.k8s.io":
		return true
	}
	return false
}

// prunable reports whether the declaration permits the operator to delete children of the kind. The cluster must serve the kind.
func (k *kind) prunable() bool { return !protected(k.resource.Key()) || k.owned.Prune }

// pruned is how long a pass waits for the end of a deletion if no event ends the wait earlier.
const pruned = 30 * time.Second

// Complete prunes the children that a complete pass has not applied, in the reverse order of the declarations. It prunes a kind
// only after the pruned children of all later kinds were deleted; until then, it returns a waiting error. It prunes nothing if the
// pass has not called Apply, or if a call has failed.
func (p *Pass) Complete(ctx context.Context) error {
	if p.applied == nil || p.refused {
		return nil
	}
	ctx = p.guarded(ctx)
	waves := p.waves(func(c *child) bool { return !p.applied[c.kind][c.name()] })
	for i, wave := range waves {
		last := i == len(waves)-1
		p.setWaves(!last) // before the first deletion, because its event can arrive before the answer
		going, braked := 0, false
		for _, d := range wave {
			switch result, err := p.prune(ctx, d); {
			case err != nil:
				return err
			case result == pruneGoing:
				going++
			case result == pruneBraked:
				braked = true
			}
		}
		switch {
		case going > 0 && !last:
			return handlers.AsWaiting(fmt.Errorf("%d pruned %s are being deleted", going, wave[0].to.resource.Plural), pruned)
		case braked:
			return nil // children of earlier kinds must not be deleted before children of later kinds
		}
	}
	p.family.mu.Lock()
	p.family.unbrake(p.parent)
	p.family.mu.Unlock()
	return nil
}

// setWaves records whether something waits for the deletions of the pass, so that they wake the parent: see [parent.waves].
func (p *Pass) setWaves(more bool) {
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	p.parent.waves = more
}

// pruneResult is the result of [Pass.prune].
type pruneResult int

const (
	pruneNothing pruneResult = iota // the child does not exist, or is not provably the parent's
	pruneGoing                      // the child is being deleted
	pruneBraked                     // the brake prevents the deletion
)

// waves returns the known children to delete by kind, beginning with the last declared kind. The function selects the children.
func (p *Pass) waves(which func(*child) bool) (all [][]*desired) {
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	p.parent.waves = false
	for _, k := range slices.Backward(f.kinds) {
		if k.owned.Keep || k.resource == nil || !p.owner.Deleting && !k.prunable() || p.leftOut(k) {
			continue // the pass has left the kind out, even if the cluster serves it by now
		}
		if wave := p.candidates(k, which); len(wave) > 0 {
			all = append(all, wave)
		}
	}
	return all
}

// candidates returns the known children of a kind that a function selects, sorted by name. The lock must be held.
func (p *Pass) candidates(k *kind, which func(*child) bool) []*desired {
	var found []*desired
	for c := range p.parent.children {
		if c.kind == k && c.Entry != 0 && which(c) {
			found = append(found, &desired{kind: k, to: target{k.resource, k.lens}, name: c.name(), referenced: p.references(k, c.name())})
		}
	}
	slices.SortFunc(found, func(a, b *desired) int {
		return strings.Compare(a.name.namespace+"/"+a.name.name, b.name.namespace+"/"+b.name.name)
	})
	return found
}

// prune deletes a child if it is provably the parent's. If the child changes between the read and the deletion, prune starts again.
func (p *Pass) prune(ctx context.Context, d *desired) (pruneResult, error) {
	braked := true
	for range maxTries {
		if err := p.mayAct(); err != nil {
			return pruneNothing, err
		}
		o, err := p.read(ctx, d)
		switch {
		case err != nil:
			return pruneNothing, err
		case o == nil:
			p.lose(d)
			return pruneNothing, nil
		case o.Deleting:
			return pruneGoing, nil
		case !children.Authored(o, d.to.lens, p.owner.UID):
			return pruneNothing, nil // another client may have copied the labels of a child
		}
		if braked {
			if p.braked(d) {
				return pruneBraked, nil
			}
			if err := p.pace(); err != nil {
				p.uncount(d)
				return pruneNothing, err
			}
			braked = false // count the child only once
		}
		err = p.family.reconciler.deps.Client.Delete(ctx, d.to.resource, d.name.namespace, d.name.name, kube.DeleteOptions{
			UID: o.UID, ResourceVersion: o.ResourceVersion,
		})
		switch {
		case kube.Classify(err) == kube.Conflict:
			continue
		case kube.Classify(err) == kube.NotFound:
			p.lose(d)
			return pruneNothing, nil
		case err != nil:
			return pruneNothing, p.failed(p.deleteVerb(), d, err)
		}
		p.markPruned(d, o.UID)
		return pruneGoing, nil
	}
	return pruneNothing, handlers.AsTemporary(fmt.Errorf("%s %s: it changes faster than it can be deleted", p.deleteVerb(), d), time.Second)
}

// deleteVerb returns the verb for errors about a deletion.
func (p *Pass) deleteVerb() string {
	if p.owner.Deleting {
		return "delete"
	}
	return "prune"
}

// markPruned logs a deletion, and marks the child, so that the end of the operator's own deletion does not wake the parent.
func (p *Pass) markPruned(d *desired, uid string) {
	p.family.mu.Lock()
	if c := d.kind.children[d.name]; c != nil && c.UID == uid {
		c.pruned = true
	}
	p.family.mu.Unlock()
	if p.owner.Deleting {
		p.subject.Logger.Info(fmt.Sprintf("Deleted %s: its parent is being deleted", d), observe.EventKey, observe.LogChildDeleted, "child", d.String())
		return
	}
	p.gone = append(p.gone, concluded{noted{d.kind, d.name}, observe.PassedChild{KindRef: shown.Ref(d.to.resource, d.name.namespace, d.name.name, uid), Result: inspect.ResultPruned}})
	p.subject.Logger.Info(fmt.Sprintf("Pruned %s: the last pass did not apply it", d), observe.EventKey, observe.LogChildPruned, "child", d.String())
}
