package reconcile

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// adopt applies a child that the operator does not know as a child of the parent. It creates the child, or takes over an existing
// object. The object must provably be the parent's child, or have no controller and be covered by kopf.Own.Adopt.
func (p *Pass) adopt(ctx context.Context, d *desired) error {
	existing, err := p.read(ctx, d)
	if err != nil {
		return err
	}
	if existing == nil {
		return p.create(ctx, d)
	}
	if existing.Deleting {
		return handlers.AsWaiting(fmt.Errorf("%s is being deleted", d), 5*time.Second)
	}
	claim, err := children.ClaimOf(existing, d.to.lens, children.Owner{
		UID: p.owner.UID, Group: p.family.resource.Group, Kind: p.owner.Kind, Name: p.owner.Name,
	})
	if err != nil {
		return handlers.AsPermanent(fmt.Errorf("apply %s: %w", d, err))
	}
	if other := p.family.living(claim.Parent); other != "" {
		claim = children.Claim{Holder: other}
	}
	switch {
	case claim.Ours:
		c, err := d.childOf(existing)
		if err != nil {
			return handlers.AsPermanent(fmt.Errorf("apply %s: %w", d, err))
		}
		if c.Entry != 0 { // without an entry, the forced apply below takes over all fields
			return p.verify(ctx, d, c)
		}
	case claim.Orphaned:
		return handlers.AsWaiting(fmt.Errorf("%s belongs to a deleted %s of the same name; waiting for the cluster's garbage collection", d, p.owner.Kind), 5*time.Second)
	case claim.Free && d.kind.owned.Adopt:
		p.subject.Logger.Info(fmt.Sprintf("Adopting %s", d), observe.EventKey, observe.LogChildAdopted, "child", d.String())
	case claim.Free:
		return handlers.AsPermanent(fmt.Errorf("apply %s: it exists, and was not made for this object; delete it, choose another name, or set kopf.Own.Adopt of OnReconcile", d))
	default:
		return handlers.AsPermanent(fmt.Errorf("apply %s: it belongs to %s", d, claim.Holder))
	}
	if err := p.pace(); err != nil {
		return err
	}
	if existing, err = p.reassign(ctx, d, existing, false); err != nil {
		return err
	} else if existing == nil {
		return handlers.AsWaiting(fmt.Errorf("%s was deleted", d), time.Second)
	}
	answer, err := p.send(ctx, d, d.tree, existing.UID, existing.ResourceVersion, true)
	if kube.Classify(err) == kube.Conflict {
		return handlers.AsWaiting(fmt.Errorf("%s has changed since it was read: %w", d, err), time.Second)
	}
	if err != nil {
		return p.failed("apply", d, err)
	}
	if err = p.accept(ctx, d, nil, answer, nil); err == nil && claim.Ours {
		p.countFight(d, lostEntry)
	}
	return err
}

// verify applies a child whose metadata the pass has read. The operator has applied the child before.
func (p *Pass) verify(ctx context.Context, d *desired, c *child) error {
	if c.Misassigned {
		var err error
		if c, err = p.reassigned(ctx, d, c); err != nil {
			return err
		} else if c == nil {
			return handlers.AsWaiting(fmt.Errorf("%s was deleted", d), time.Second)
		}
	}
	drift, ownership, certain := p.judge(c, d)
	return p.update(ctx, d, c, drift, ownership, certain)
}

// childOf returns the child for an object whose metadata were read. The child is marked for a verifying apply.
func (d *desired) childOf(o *object.Object) (*child, error) {
	digest, err := d.to.lens.Digest(o)
	if err != nil {
		return nil, err
	}
	return &child{Digest: digest, kind: d.kind, managed: d.to.lens.ManagedFields(o, false), verify: true}, nil
}

// noVersion is a resourceVersion that no object has. An apply with it creates the object, and conflicts if the object exists.
const noVersion = "1"

// create creates a child by an apply. If another client has created the object first, the apply changes nothing, and the next pass
// judges the object.
func (p *Pass) create(ctx context.Context, d *desired) error {
	if err := p.pace(); err != nil {
		return err
	}
	created, err := p.send(ctx, d, d.created, "", noVersion, false)
	if kube.Classify(err) == kube.Conflict {
		return handlers.AsWaiting(fmt.Errorf("%s was created at the same time: %w", d, err), time.Second)
	}
	if err != nil {
		return p.failed("apply", d, err)
	}
	err = p.accept(ctx, d, nil, created, nil)
	d.result = inspect.ResultCreated
	return err
}

// replace handles a change that the API server rejects as invalid. With kopf.Own.Recreate, it deletes the child, so that the next
// pass creates the child anew. Before that, a dry run must show that the API server would accept the child as a new object.
func (p *Pass) replace(ctx context.Context, d *desired, refusal error) error {
	final := p.failed("apply", d, refusal)
	switch {
	case d.kind.owned.Recreate == "" && immutable(refusal):
		return handlers.AsPermanent(fmt.Errorf("%w; delete the child, or set kopf.Own.Recreate of OnReconcile", final))
	case d.kind.owned.Recreate == "", protected(d.to.resource.Key()) && !d.kind.owned.Prune:
		return final
	}
	body, err := object.AppendJSON(nil, d.created, nil)
	if err != nil {
		return fmt.Errorf("apply %s: %w", d, err)
	}
	client := p.family.reconciler.deps.Client
	switch err := client.CheckCreate(ctx, d.to.resource, d.name.namespace, body); {
	case err == nil:
		return handlers.AsTemporary(fmt.Errorf("%s was deleted at the same time", d), time.Second)
	case kube.IsInvalidObject(err):
		return handlers.AsPermanent(fmt.Errorf("%w; the API server would also reject it as a new object: %w", final, err))
	case kube.Classify(err) != kube.Conflict:
		return p.failed("apply", d, err)
	}
	if wait := p.recreationDelay(d); wait > 0 {
		return handlers.AsWaiting(fmt.Errorf("%s was deleted and created anew several times: %w; the next time is in %s", d, refusal, wait.Round(time.Second)), wait)
	}
	o, err := p.read(ctx, d)
	switch {
	case err != nil:
		return err
	case o == nil || o.Deleting:
		return handlers.AsWaiting(fmt.Errorf("%s is being deleted", d), time.Second)
	case !children.Authored(o, d.to.lens, p.owner.UID):
		return final
	case p.mayAct() != nil:
		return p.mayAct()
	case p.braked(d):
		return handlers.AsWaiting(fmt.Errorf("%s must be deleted and created anew, but deletions of its kind are stopped (prune.stopped): %w", d, refusal), 0)
	}
	err = client.Delete(ctx, d.to.resource, d.name.namespace, d.name.name, kube.DeleteOptions{
		UID: o.UID, ResourceVersion: o.ResourceVersion, Propagation: metav1.DeletionPropagation(d.kind.owned.Recreate),
	})
	if err != nil {
		p.uncount(d)
	}
	switch class := kube.Classify(err); {
	case class == kube.Conflict, class == kube.NotFound:
		return handlers.AsWaiting(fmt.Errorf("%s has changed since it was read", d), time.Second)
	case err != nil:
		return p.failed("delete", d, err)
	}
	p.noteRecreation(d, refusal)
	p.subject.Logger.Info(fmt.Sprintf("Deleted %s to create it anew: %v", d, refusal), observe.EventKey, observe.LogChildRecreated, "child", d.String())
	return handlers.AsWaiting(fmt.Errorf("%s is being deleted, to be created anew", d), absence)
}

// immutable reports whether the API server rejects the change of a field rather than its value. Only the text of the error shows
// the difference.
func immutable(err error) bool {
	text := err.Error()
	return strings.Contains(text, "immutable") || strings.Contains(text, "updates to ")
}
