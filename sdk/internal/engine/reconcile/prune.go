package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// protected reports whether the objects of a resource hold other objects or data: they are deleted only if the declaration says so.
func protected(resource string) bool {
	switch resource {
	case "namespaces.v1", "persistentvolumeclaims.v1", "customresourcedefinitions.v1.apiextensions.k8s.io":
		return true
	}
	return false
}

// pruned is how long a pass waits for the end of a deletion before it looks again.
const pruned = 30 * time.Second

// Complete deletes the children that a complete pass has not applied, in the reverse order of the declarations: the
// children of a kind follow when all children of later kinds were deleted. Without a call of Apply, nothing is deleted.
func (p *Pass) Complete(ctx context.Context) error {
	if p.applied == nil {
		return nil
	}
	ctx = p.guarded(ctx)
	waves := p.waves()
	for i, wave := range waves {
		going := 0
		for _, d := range wave {
			if err := p.mayAct(); err != nil {
				return err
			}
			deleted, err := p.prune(ctx, d)
			if err != nil {
				return err
			}
			if deleted {
				going++
			}
		}
		if going > 0 && i < len(waves)-1 {
			p.family.mu.Lock()
			p.parent.waves = true
			p.family.mu.Unlock()
			return handlers.AsWaiting(fmt.Errorf("%d pruned %s are being deleted", going, wave[0].kind.resource.Plural), pruned)
		}
	}
	return nil
}

// waves returns the known children that the pass has not applied: those of the last declared kind come first.
func (p *Pass) waves() (all [][]*desired) {
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	p.parent.waves = false
	for _, k := range slices.Backward(f.kinds) {
		if k.owned.Keep || k.resource == nil || protected(k.resource.Key()) && !k.owned.Prune {
			continue
		}
		if wave := p.candidates(k); len(wave) > 0 {
			all = append(all, wave)
		}
	}
	return all
}

// candidates returns the known children of a kind that the pass has not applied, sorted by name. The lock must be held.
func (p *Pass) candidates(k *kind) []*desired {
	var found []*desired
	for c := range p.parent.children {
		name := childName{c.Namespace(), c.Name}
		if c.kind == k && c.Entry != 0 && !p.applied[k][name] {
			found = append(found, &desired{kind: k, name: name})
		}
	}
	slices.SortFunc(found, func(a, b *desired) int {
		return strings.Compare(a.name.namespace+"/"+a.name.name, b.name.namespace+"/"+b.name.name)
	})
	return found
}

// prune deletes a child if it is proven to be the parent's. It reports whether the child still is about to go.
func (p *Pass) prune(ctx context.Context, d *desired) (going bool, err error) {
	o, err := p.read(ctx, d)
	switch {
	case err != nil:
		return false, err
	case o == nil:
		p.lose(d)
		return false, nil
	case o.Deleting:
		return true, nil
	}
	if !children.Authored(o, d.kind.lens, p.owner.UID) {
		return false, nil // another client has copied the labels of a child
	}
	if p.braked(d) {
		return false, nil
	}
	if err := p.pace(); err != nil {
		return false, err
	}
	err = p.family.reconciler.deps.Client.Delete(ctx, d.kind.resource, d.name.namespace, d.name.name, kube.Preconditions{
		UID: o.UID, ResourceVersion: o.ResourceVersion,
	})
	switch kube.Classify(err) {
	case kube.NotFound:
		p.lose(d)
		return false, nil
	case kube.Conflict:
		return false, handlers.AsTemporary(fmt.Errorf("prune %s: it has changed meanwhile", d), time.Second)
	}
	if err != nil {
		return false, p.pruneError(d, err)
	}
	p.family.mu.Lock()
	if c := d.kind.children[d.name]; c != nil {
		c.pruned = true
	}
	p.family.mu.Unlock()
	p.subject.Logger.Info(fmt.Sprintf("Pruned %s: the last pass did not apply it", d), observe.EventKey, observe.LogChildPruned, "child", d.String())
	return true, nil
}

func (p *Pass) pruneError(d *desired, err error) error {
	if failed := p.failed(d, err); handlers.ErrorKindOf(failed) == handlers.KindWaiting || errors.Is(failed, err) && failed == err { //nolint:errorlint // the same error
		return failed
	}
	return fmt.Errorf("prune %s: %w", d, err)
}
