package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// maxTries is the maximum number of attempts at a request for a child that other clients change at the same time.
const maxTries = 6

// update applies a known child of the parent. If the drift is certain, the first apply is forced, for the known version only.
// Otherwise, the first apply without force shows the conflicts.
func (p *Pass) update(ctx context.Context, d *desired, c *child, drift []children.Drift, ownership children.Ownership, certain bool) error {
	force := ownership == children.Lost || certain
	tree, version, uid := d.tree, "", c.UID
	if certain {
		version = c.ResourceVersion
	}
	if err := p.pace(); err != nil {
		return err
	}
	for range maxTries {
		answer, err := p.send(ctx, d, tree, uid, version, force)
		conflicts := kube.Conflicts(err)
		switch {
		case err == nil:
			if err = p.accept(ctx, d, c, answer, drift); err == nil && ownership == children.Lost {
				p.countFight(d, lostEntry)
			}
			return err
		case len(conflicts) > 0:
			for _, c := range conflicts {
				if c.Manager == p.family.manager+children.OnceSuffix {
					return handlers.AsPermanent(fmt.Errorf("apply %s: the API server records %s as a single value; name the whole field in kopf.Own.Once, or no part of it",
						d, strings.TrimPrefix(c.Field, ".")))
				}
			}
			left, err := leftTo(d, tree, conflicts)
			if err != nil {
				return handlers.AsPermanent(fmt.Errorf("apply %s: %w", d, err))
			}
			if left != nil {
				p.noteLeft(d, conflicts)
				tree = left
				continue
			}
			newest, err := p.read(ctx, d)
			if err != nil {
				return err
			}
			if newest == nil || newest.UID != uid {
				return p.adopt(ctx, d)
			}
			drift = p.named(d, tree, newest, drift)
			force, version = true, newest.ResourceVersion
		case kube.IsRemovedVersion(err):
			if err := p.clearEntries(ctx, d, uid); err != nil && kube.Classify(err) != kube.Conflict {
				return p.failed("apply", d, err)
			}
			force, version = true, ""
		case kube.IsOtherUID(err), kube.Classify(err) == kube.Conflict && version == "":
			p.lose(d)
			if d.lost++; d.lost == maxTries { // an admission webhook can refuse the request with the same status code
				return p.failed("apply", d, err)
			}
			return p.adopt(ctx, d)
		case kube.Classify(err) == kube.Conflict:
			force, version = false, "" // the child has changed since it was read
		case kube.IsInvalidObject(err):
			return p.replace(ctx, d, err)
		default:
			return p.failed("apply", d, err)
		}
	}
	return handlers.AsTemporary(fmt.Errorf("apply %s: it changes faster than it can be applied", d), time.Second)
}

// lostEntry stands for the operator's entry in the managedFields of a child, which another client has cleared.
var lostEntry = children.Drift{Path: "metadata.managedFields"}

// leftTo returns the tree without the conflicting fields that stay with their managers; nil if no field stays.
func leftTo(d *desired, tree map[string]any, conflicts []kube.FieldConflict) (map[string]any, error) {
	var fields []string
	for _, c := range conflicts {
		if d.kind.owned.Drift != handlers.DriftRevert || c.Subresource == scale {
			fields = append(fields, c.Field)
		}
	}
	if fields == nil {
		return nil, nil
	}
	return children.Without(tree, fields)
}

// noteLeft records the conflicting fields that stay with their managers. With DriftReport, it logs them.
func (p *Pass) noteLeft(d *desired, conflicts []kube.FieldConflict) {
	for _, c := range conflicts {
		if d.kind.owned.Drift == handlers.DriftRevert && c.Subresource != scale {
			continue
		}
		one := children.Drift{Path: strings.TrimPrefix(c.Field, "."), Manager: c.Manager, Subresource: c.Subresource}
		d.left = append(slices.DeleteFunc(d.left, func(o children.Drift) bool { return o.Path == one.Path }), one)
		if d.kind.owned.Drift == handlers.DriftReport && c.Subresource != scale {
			p.subject.Logger.Warn(fmt.Sprintf("Left a field of %s to %s: %s", d, c.Manager, strings.TrimPrefix(c.Field, ".")),
				observe.EventKey, observe.LogDriftLeft, "child", d.String(), "field", c.Field, "manager", c.Manager)
		}
	}
}

// scale is the subresource through which autoscalers change replicas.
const scale = "scale"

// send applies a tree, and returns the child in the API server's answer. With a UID or a version, the apply fails if the object has
// another one.
func (p *Pass) send(ctx context.Context, d *desired, tree map[string]any, uid, version string, force bool) (*object.Object, error) {
	if err := p.mayAct(); err != nil {
		return nil, err
	}
	sent := tree
	if uid != "" {
		sent = object.With(sent, object.Path{"metadata", "uid"}, uid)
	}
	if version != "" {
		sent = object.With(sent, object.Path{"metadata", "resourceVersion"}, version)
	}
	body, err := object.AppendJSON(make([]byte, 0, 1024), sent, nil) // most children fit into this capacity
	if err != nil {
		return nil, fmt.Errorf("apply %s: %w", d, err)
	}
	return p.family.reconciler.deps.Client.Apply(ctx, d.to.resource, kube.ApplyRequest{
		Namespace: d.name.namespace, Name: d.name.name, Manager: p.family.manager, Force: force, Body: body,
	})
}

// accept stores the answer to an apply, records and logs the fields that it took back, and reassigns the fields to their managers.
// The child is the version before the apply; nil for a new or adopted child.
func (p *Pass) accept(ctx context.Context, d *desired, c *child, answer *object.Object, drift []children.Drift) error {
	before := ""
	if c != nil {
		before = c.ResourceVersion
	}
	if !p.store(d, answer, true) {
		return nil
	}
	switch {
	case before == answer.ResourceVersion:
	case c != nil && c.Applied == d.hash && len(d.left) > 0:
		d.result = inspect.ResultYielded
	default:
		d.result = inspect.ResultChanged
	}
	switch {
	case c == nil || before == answer.ResourceVersion:
		drift = nil
	case c.Applied != d.hash: // a field without a manager is newly applied, and was not removed by others
		drift = slices.DeleteFunc(slices.Clone(drift), func(one children.Drift) bool { return one.Manager == "" })
	}
	if d.taken = drift; len(drift) > 0 {
		d.result = inspect.ResultReverted
	}
	for _, one := range drift {
		p.subject.Logger.Info(fmt.Sprintf("Took a field of %s back: %s", d, one), observe.EventKey, observe.LogDriftReverted,
			"child", d.String(), "field", one.Path, "manager", one.Manager)
	}
	if len(drift) > 0 {
		p.countFight(d, drift[0])
	}
	_, err := p.reassign(ctx, d, answer, true)
	return err
}

// store stores a version of a child from the answer to a request of the pass. If verified, the operator's entry covers the desired
// child. It returns false if the version cannot be read, or if the cluster no longer serves the kind.
func (p *Pass) store(d *desired, o *object.Object, verified bool) bool {
	digest, err := d.to.lens.Digest(o)
	if err != nil {
		p.subject.Logger.Warn("Cannot read a child; ignoring this version", observe.EventKey, observe.LogChildUnreadable, "child", o.String(), "error", err)
		return false
	}
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	if d.kind.resource == nil {
		return false
	}
	at := noted{d.kind, d.name}
	if p.noted == nil {
		p.noted = map[noted]children.Digest{}
	}
	p.noted[at] = digest
	now := d.kind.children[d.name]
	if now != nil && now.UID == digest.UID && object.Precedes(digest.ResourceVersion, now.ResourceVersion) {
		return true // an event has already delivered a newer version; the end of the pass compares the two
	}
	c := f.store(d.kind, d.name, digest, o, false)
	switch {
	case verified:
		c.verified, c.verify = digest.Entry, false
	case digest.Entry != c.verified || digest.Entry == 0:
		c.managed = d.to.lens.ManagedFields(o, false)
	}
	return true
}

// lose removes a known child that does not exist, or exists with another UID.
func (p *Pass) lose(d *desired) {
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	p.family.remove(d.kind, d.name)
}

// read returns the metadata of a child; nil if it does not exist.
func (p *Pass) read(ctx context.Context, d *desired) (*object.Object, error) {
	o, err := p.family.reconciler.deps.Client.GetMetadata(ctx, d.to.resource, d.name.namespace, d.name.name)
	switch {
	case kube.Classify(err) == kube.NotFound:
		return nil, nil
	case err != nil:
		return nil, p.failed("apply", d, err)
	}
	return o, nil
}

// named returns the drift of a tree in the newest version, with the managers of the fields. If the newest version has no drift,
// named returns the given drift.
func (p *Pass) named(d *desired, tree map[string]any, newest *object.Object, drift []children.Drift) []children.Drift {
	entries, err := children.ParseEntries(d.to.lens.ManagedFields(newest, false))
	if err != nil {
		return drift
	}
	_, found := children.Judge(entries, p.family.manager, tree)
	if len(found) == 0 {
		return drift
	}
	return found
}

// failed converts the error of a request to an error that decides about the pass. The verb is "apply", "prune" or "delete". A
// missing namespace or definition makes the pass wait, and a rejection is permanent. All other errors are retried, in each errors
// mode.
func (p *Pass) failed(verb string, d *desired, err error) error {
	switch {
	case errors.Is(err, core.ErrStopping), core.IsFenced(err), handlers.ErrorKindOf(err) == handlers.KindWaiting:
		return err
	}
	wrapped := fmt.Errorf("%s %s: %w", verb, d, err)
	switch kube.Classify(err) {
	case kube.NotFound:
		return handlers.AsWaiting(wrapped, absence)
	case kube.Rejected, kube.Invalid:
		return handlers.AsPermanent(wrapped)
	}
	return handlers.AsRetried(wrapped)
}

// clearEntries clears the managedFields of a child. While an entry has a version that the API server no longer knows, all applies
// fail. The patch changes only the version of the child that the pass has read.
func (p *Pass) clearEntries(ctx context.Context, d *desired, uid string) error {
	o, err := p.read(ctx, d)
	if err != nil || o == nil || o.UID != uid {
		return err
	}
	_, err = p.patchEntries(ctx, d, o, []any{map[string]any{}})
	return err
}

// reassign moves each applied field of a child to its proper manager: see [children.Lens.Reassign]. The object is the newest known
// version, with its managedFields. See store for verified. It returns the newest version; nil if the child no longer exists.
func (p *Pass) reassign(ctx context.Context, d *desired, o *object.Object, verified bool) (*object.Object, error) {
	uid := o.UID
	for range maxTries {
		entries := d.to.lens.Reassign(o)
		if entries == nil {
			return o, nil
		}
		if err := p.mayAct(); err != nil {
			return nil, err
		}
		answer, err := p.patchEntries(ctx, d, o, entries)
		if err == nil {
			p.store(d, answer, verified)
			return answer, nil
		}
		if kube.Classify(err) != kube.Conflict {
			return nil, p.failed("apply", d, err)
		}
		if o, err = p.read(ctx, d); err != nil || o == nil || o.UID != uid {
			return nil, err
		}
	}
	return nil, handlers.AsTemporary(fmt.Errorf("apply %s: it changes faster than its managedFields can be set", d), time.Second)
}

// reassigned reads a known child, and reassigns its fields. It returns the newest version; nil if the child no longer exists.
func (p *Pass) reassigned(ctx context.Context, d *desired, c *child) (*child, error) {
	if err := p.pace(); err != nil {
		return nil, err
	}
	o, err := p.read(ctx, d)
	if err == nil && o != nil && o.UID == c.UID {
		o, err = p.reassign(ctx, d, o, false)
	}
	switch {
	case err != nil:
		return nil, err
	case o == nil || o.UID != c.UID:
		p.lose(d)
		return nil, nil
	}
	return p.known(d), nil
}

// patchEntries sets the managedFields of a child. The patch fails if the child has another version than o.
func (p *Pass) patchEntries(ctx context.Context, d *desired, o *object.Object, entries []any) (*object.Object, error) {
	body, err := object.AppendJSON(nil, map[string]any{"metadata": map[string]any{
		"uid": o.UID, "resourceVersion": o.ResourceVersion, "managedFields": entries,
	}}, nil)
	if err != nil {
		return nil, err
	}
	answer, _, err := p.family.reconciler.deps.Client.SendPatch(ctx, d.to.resource, kube.PatchRequest{
		Namespace: d.name.namespace, Name: d.name.name, ContentType: kube.MergePatch, Body: body, KeepManagedFields: true,
	})
	return answer, err
}
