package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/hierarchy"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// desired is a child in the state that the handler wants, with the results of its apply.
type desired struct {
	kind       *kind
	to         target
	name       childName
	tree       map[string]any // canonical tree to apply, including the operator's labels, annotation and owner reference
	hash       uint64         // hash of the tree; 0 outside of passes
	referenced bool           // the child has an owner reference, so that the cluster deletes the child with its parent

	created map[string]any // tree to create the child with: it also has the fields of [children.Lens.Once]
	lost    int            // number of applies in this pass that failed because of another UID

	result      inspect.ChildResult // empty if no apply has changed the child
	taken, left []children.Drift    // drifted fields that the pass took back, and drifted fields that stay with other managers
	judged      bool                // left has all drifted fields that stay with other managers
}

// target is a copy of a kind's resource and lens for the requests of a pass. The kind itself can change during the pass, for
// example if the cluster stops serving the kind.
type target struct {
	resource *resources.Resource
	lens     children.Lens
}

// String returns the kind and the name, such as "Deployment shop", or "ConfigMap monitoring/shop" for a child elsewhere.
func (d *desired) String() string {
	name := d.name.name
	if d.name.namespace != "" && !d.referenced && !d.kind.owned.Keep {
		name = d.name.namespace + "/" + name
	}
	return d.to.resource.Kind + " " + name
}

// absence is how long a pass waits for a missing namespace or definition, or for the end of a child's deletion, if no event ends
// the wait earlier.
const absence = 30 * time.Second

// Apply makes the objects the children of the parent. It checks all objects before the first request. If the API server
// refuses some children, Apply still sends the others. It joins the errors, and the first error decides about the pass: errors to
// retry precede waits, and waits precede permanent errors.
func (p *Pass) Apply(ctx context.Context, objs []any) error {
	err := p.applyAll(p.guarded(ctx), objs)
	p.refused = p.refused || err != nil
	return err
}

func (p *Pass) applyAll(ctx context.Context, objs []any) error {
	if err := p.mayAct(); err != nil {
		return err
	}
	all, err := p.prepare(objs)
	if err != nil {
		return err
	}
	if p.applied == nil {
		p.applied = map[*kind]map[childName]bool{}
	}
	for _, d := range all {
		if p.applied[d.kind] == nil {
			p.applied[d.kind] = map[childName]bool{}
		}
		p.applied[d.kind][d.name] = true
	}
	var failed, waiting, final []error
	for _, d := range all {
		if err := p.mayAct(); err != nil {
			return err
		}
		err := p.keep(ctx, d)
		p.conclude(d, err)
		switch {
		case err == nil:
		case core.IsFenced(err), errors.Is(err, errPaced):
			return err
		case handlers.ErrorKindOf(err) == handlers.KindPermanent:
			final = append(final, err)
		case handlers.ErrorKindOf(err) == handlers.KindWaiting:
			waiting = append(waiting, err)
		default:
			failed = append(failed, err)
		}
	}
	soonestFirst(waiting)
	return errors.Join(slices.Concat(failed, waiting, final)...) // the first error decides about the pass
}

// soonestFirst moves the error with the shortest wait to the front. A wait of 0 is unlimited.
func soonestFirst(waiting []error) {
	var soonest time.Duration
	for i, err := range waiting {
		limited, ok := errors.AsType[handlers.Waiting](err)
		if !ok {
			continue
		}
		if wait := limited.KopfWait(); wait > 0 && (soonest == 0 || wait < soonest) {
			soonest = wait
			waiting[0], waiting[i] = waiting[i], waiting[0]
		}
	}
}

// prepare returns the desired children for the objects. It joins the errors of all objects.
func (p *Pass) prepare(objs []any) ([]*desired, error) {
	var all []*desired
	var problems []error
	for _, obj := range objs {
		d, err := p.desire(obj)
		if out, ok := errors.AsType[leftOut](err); ok {
			p.leaveOut(out.kind)
			continue
		}
		if err != nil {
			if handlers.ErrorKindOf(err) == handlers.KindWaiting {
				return nil, err
			}
			problems = append(problems, err)
			continue
		}
		if slices.ContainsFunc(all, func(o *desired) bool { return o.kind == d.kind && o.name == d.name }) {
			problems = append(problems, fmt.Errorf("apply %s: two objects have this name; give each child another name", d))
			continue
		}
		all = append(all, d)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, handlers.AsPermanent(err)
	}
	return all, nil
}

// leftOut is the error of an object whose kind is optional, while the cluster does not serve the kind.
type leftOut struct{ kind *kind }

// Error implements error.
func (e leftOut) Error() string {
	return "the cluster does not serve " + e.kind.owned.Selector.String()
}

// LeavesOut reports whether [Pass.Apply] leaves an object out, because its kind is optional and the cluster does not serve the kind.
func (p *Pass) LeavesOut(obj any) bool {
	_, _, err := p.kindOf(obj)
	_, out := errors.AsType[leftOut](err)
	return out
}

// kindOf returns the declared kind of an object. If the cluster may serve the kind later, it returns a waiting error, or leftOut for an
// optional kind.
func (p *Pass) kindOf(obj any) (*kind, target, error) {
	stated := children.KindOf(obj)
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	if p.rehearsal != nil {
		p.rehearsal.serve(obj, stated)
	}
	var found *kind
	for _, k := range p.family.kinds {
		switch {
		case k.resource == nil || !isKind(k.resource, stated):
		case found != nil && found.resource.Key() != k.resource.Key():
			return nil, target{}, fmt.Errorf("apply %s: it can be one of %s or of %s; set its apiVersion and kind", kindText(stated), found.resource, k.resource)
		case found == nil:
			found = k
		}
	}
	if found != nil {
		return found, target{found.resource, found.lens}, nil
	}
	for _, k := range p.family.kinds {
		if k.resource != nil || !couldBe(k, stated) {
			continue
		}
		if k.owned.Optional {
			return nil, target{}, leftOut{k}
		}
		return nil, target{}, handlers.AsWaiting(fmt.Errorf("the cluster does not serve %s", k.owned.Selector.String()), absence)
	}
	return nil, target{}, fmt.Errorf("apply %s: the kind is not declared; add %s", kindText(stated), p.family.missing(stated))
}

func kindText(stated schema.GroupVersionKind) string {
	if stated.Version == "" {
		return stated.Kind
	}
	return stated.Kind + " of " + stated.GroupVersion().String()
}

// isKind reports whether the stated group, version and kind of an object fit a resource. Go structs without TypeMeta state only
// their kind.
func isKind(res *resources.Resource, stated schema.GroupVersionKind) bool {
	return res.Kind == stated.Kind && (stated.Version == "" || stated.Group == res.Group && stated.Version == res.Version)
}

// couldBe guesses the result of isKind for a kind that the cluster does not serve, from the names in its selector. A wrong guess
// lasts only until the cluster serves the kind, because each parent then has another pass.
func couldBe(k *kind, stated schema.GroupVersionKind) bool {
	s := k.owned.Selector
	if stated.Version != "" && (stated.Group != s.Group || s.Version != "" && stated.Version != s.Version) {
		return false
	}
	plural, singular := meta.UnsafeGuessKindToResource(stated)
	for _, name := range []string{s.Name, s.Kind, s.Plural, s.Singular} {
		if name == stated.Kind || name != "" && (name == plural.Resource || name == singular.Resource || name == singular.Resource+"s") {
			return true
		}
	}
	return false
}

// desire returns the desired child for an object.
func (p *Pass) desire(obj any) (*desired, error) {
	k, to, err := p.kindOf(obj)
	if err != nil {
		return nil, err
	}
	tree, err := children.Encode(obj, schema.GroupVersionKind{Group: to.resource.Group, Version: to.resource.Version, Kind: to.resource.Kind})
	if err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	name, err := p.place(k, to.resource, tree)
	if err != nil {
		return nil, err
	}
	d := &desired{kind: k, to: to, name: name, tree: tree, created: tree, referenced: p.references(k, name)}
	for _, path := range to.lens.Once {
		d.tree = object.Without(d.tree, path) // d.tree and d.created share the map of the metadata, so that p.mark changes both
	}
	if err := p.mark(d); err != nil {
		return nil, fmt.Errorf("apply %s: %w", d, err)
	}
	return d, nil
}

// references reports whether a child gets an owner reference. Owner references work neither across namespaces nor from a
// cluster-scoped child to a namespaced parent, because the garbage collector would delete the child at once.
func (p *Pass) references(k *kind, name childName) bool {
	return !k.owned.Keep && (p.owner.Namespace == "" || p.owner.Namespace == name.namespace)
}

// place returns the name and the namespace of a child, and sets both in its tree. They default to the parent's name and namespace.
func (p *Pass) place(k *kind, res *resources.Resource, tree map[string]any) (childName, error) {
	meta := metadataOf(tree)
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	if name == "" {
		name = p.owner.Name
	}
	fail := func(format string, args ...any) (childName, error) {
		return childName{}, fmt.Errorf("apply %s %s: %s", res.Kind, name, fmt.Sprintf(format, args...))
	}
	switch within := p.owner.Namespace; {
	case !res.Namespaced && namespace != "":
		return fail("the kind is cluster-scoped; remove metadata.namespace")
	case !res.Namespaced && within != "" && !k.owned.Elsewhere:
		return fail("it is cluster-scoped, but its parent is in a namespace, so garbage collection cannot remove it; set kopf.Own.Elsewhere of OnReconcile")
	case res.Namespaced && namespace == "" && within == "":
		return fail("set metadata.namespace: its parent is cluster-scoped")
	case res.Namespaced && namespace == "":
		namespace = within
	case res.Namespaced && within != "" && namespace != within && !k.owned.Elsewhere:
		return fail("it is in namespace %s, but its parent is in %s; garbage collection does not work across namespaces; set kopf.Own.Elsewhere of OnReconcile",
			namespace, within)
	}
	meta["name"] = name
	delete(meta, "namespace")
	if namespace != "" {
		meta["namespace"] = namespace
	}
	return childName{namespace, name}, nil
}

// metadataOf returns the metadata of a tree. It adds empty metadata if there are none.
func metadataOf(tree map[string]any) map[string]any {
	meta := object.Metadata(tree)
	if meta == nil {
		meta = map[string]any{}
		tree["metadata"] = meta
	}
	return meta
}

// mark adds the operator's labels, the owner reference and the annotation with the hash to a child. Outside of passes, it adds
// neither the label that streams select nor the hash, so that passes do not prune the child.
func (p *Pass) mark(d *desired) error {
	if p.rehearsal != nil {
		return nil
	}
	meta := metadataOf(d.tree)
	labels := stanza(meta, "labels")
	labels[ownerUIDLabel] = p.owner.UID
	if within := p.owner.Namespace; within != "" && within != d.name.namespace {
		labels[ownerNamespaceLabel] = within
	}
	if d.referenced {
		refs, _ := meta["ownerReferences"].([]any)
		owner := map[string]any{
			"apiVersion": p.owner.APIVersion, "kind": p.owner.Kind, "metadata": map[string]any{"name": p.owner.Name, "uid": p.owner.UID},
		}
		meta["ownerReferences"] = append(refs, hierarchy.OwnerReference(owner, new(true), new(true)))
	}
	if p.family.handler == nil {
		return nil
	}
	labels[ownedByLabel] = p.family.label
	text, err := children.Hash(d.tree)
	if err != nil {
		return err
	}
	d.hash = children.ParseHash(text)
	stanza(meta, "annotations")[d.to.lens.AppliedAnnotation] = text
	return nil
}

// stanza returns a map in the metadata, such as the labels. It adds an empty map if there is none.
func stanza(meta map[string]any, name string) map[string]any {
	values, ok := meta[name].(map[string]any)
	if !ok {
		values = map[string]any{}
		meta[name] = values
	}
	return values
}

// keep brings a child into its desired state. It sends no request for a child that is known to be in this state.
func (p *Pass) keep(ctx context.Context, d *desired) error {
	if p.rehearsal != nil {
		return p.rehearsal.keep(d)
	}
	c := p.known(d)
	if c != nil && c.Owner() == p.owner.UID && c.Entry == 0 {
		if err := p.fightDelay(d, c); err != nil {
			return err
		}
	}
	switch {
	case c == nil || c.Owner() != p.owner.UID || c.Entry == 0 && (c.Applied == 0 || d.referenced):
		return p.adopt(ctx, d) // without the operator's entry in managedFields, the labels may be a copy by another client
	case p.takePruned(c):
		return p.adopt(ctx, d) // the deletion event has not arrived yet
	case c.State == children.Terminating:
		return handlers.AsWaiting(fmt.Errorf("%s is being deleted", d), absence)
	}
	if c.Misassigned {
		var err error
		if c, err = p.reassigned(ctx, d, c); err != nil {
			return err
		} else if c == nil {
			return p.adopt(ctx, d)
		}
	}
	drift, ownership, certain := p.judge(c, d)
	if ownership == children.Covered {
		return nil
	}
	if err := p.fightDelay(d, c); err != nil {
		return err
	}
	another := c.Applied != d.hash
	if another && c.unstable != nil && !p.Fresh() {
		if wait := c.unstable.repeats.wait(p.family.reconciler.deps.Now()); wait > 0 {
			return handlers.AsWaiting(fmt.Errorf("%s: the handler wants a different object again and again (%s); the next attempt follows in %s",
				d, c.unstable.repeats.about, wait.Round(time.Second)), wait)
		}
	}
	err := p.update(ctx, d, c, drift, ownership, certain)
	if err == nil && another {
		p.noteText(d)
	}
	return err
}

// takePruned returns and clears the mark of a pruned child. Without the mark, the end of the deletion wakes the parent, because the
// pass wants the child again.
func (p *Pass) takePruned(c *child) bool {
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	pruned := c.pruned
	c.pruned = false
	return pruned
}

// known returns the known child with the name of d; nil if there is none.
func (p *Pass) known(d *desired) *child {
	p.family.mu.Lock()
	defer p.family.mu.Unlock()
	return d.kind.children[d.name]
}

// judge returns whether the operator's entry covers a desired child, and the drifted fields that the pass must take back. The drift
// is certain if the known version shows the managers of the fields, and no drifted field stays with its manager. Then the first
// apply may be forced. Covered means that no apply is needed; for another desired object or an unverified child, judge returns
// Drifted instead.
func (p *Pass) judge(c *child, d *desired) (drift []children.Drift, ownership children.Ownership, certain bool) {
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.Applied == d.hash && c.Entry == c.verified && c.verified != 0 && !c.verify {
		return nil, children.Covered, false
	}
	if c.managed == nil && c.Entry == c.verified && c.verified != 0 {
		return nil, children.Drifted, false // the entry is complete, but the desired object is another one, or the child must be verified
	}
	entries, err := children.ParseEntries(c.managed)
	if err != nil {
		return nil, children.Lost, false
	}
	ownership, drift = children.Judge(entries, f.manager, d.tree)
	drift, d.left = c.leave(d, drift)
	d.judged = true
	left := len(d.left) > 0
	// A forced apply could take fields that were changed through /scale.
	scaled := slices.ContainsFunc(entries, func(e children.Entry) bool { return e.Subresource == scale })
	certain = !left && !scaled && slices.ContainsFunc(drift, func(one children.Drift) bool { return one.Manager != "" }) &&
		!slices.ContainsFunc(drift, func(one children.Drift) bool { return one.Manager == f.manager+children.OnceSuffix })
	if ownership == children.Drifted && len(drift) == 0 && left && d.kind.owned.Drift != handlers.DriftReport {
		// DriftReport needs the conflict of an apply to name the fields in the log.
		ownership = children.Covered
	}
	if c.Applied != d.hash || c.verify {
		if ownership == children.Covered {
			ownership = children.Drifted
		}
		return drift, ownership, certain
	}
	if ownership == children.Covered {
		c.verified, c.managed = c.Entry, nil
	}
	return drift, ownership, certain
}

// leave splits the drift into kept, which the pass takes back, and left, which stays with its managers. Fields that were changed
// through /scale always stay; with another policy than DriftRevert, all fields with a manager do.
func (c *child) leave(d *desired, drift []children.Drift) (kept, left []children.Drift) {
	for _, one := range drift {
		if one.Scaled() || d.kind.owned.Drift != handlers.DriftRevert && one.Manager != "" {
			left = append(left, one)
			continue
		}
		kept = append(kept, one)
	}
	return kept, left
}
