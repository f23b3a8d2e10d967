package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reasons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watched"
)

// Rehearsal is a pass without a cluster, for tests of handlers. The pass checks and encodes the children as usual, but records them
// instead of sending requests. It guesses the resources of the declared kinds from the kinds of the objects.
type Rehearsal struct {
	pass       *Pass
	applied    []*desired
	conditions []metav1.Condition
}

// Rehearse returns the rehearsal of a handler for a parent.
func Rehearse(ctx context.Context, h *handlers.Handler, res *resources.Resource, owner *object.Object) *Rehearsal {
	f := newFamily(&Reconciler{deps: &core.Deps{Now: time.Now}, prefix: children.DefaultPrefix}, res, h)
	for i := range h.Owns {
		f.kinds = append(f.kinds, &kind{family: f, owned: &h.Owns[i], order: i, children: map[childName]*child{}})
	}
	parent := f.parentOf(owner.UID)
	parent.object = owner
	for i := range h.Watches {
		f.watched = append(f.watched, &watchedKind{family: f, declared: &h.Watches[i], table: watched.NewTable(true)})
	}
	r := &Rehearsal{}
	r.pass = &Pass{family: f, parent: parent, ctx: ctx, owner: owner, wakes: reasons.List{{Kind: inspect.WakeObject}}, rehearsal: r}
	return r
}

// Pass returns the pass for the handler's request.
func (r *Rehearsal) Pass() *Pass { return r.pass }

// RehearsalOf returns the rehearsal of a pass; nil for the pass of an operator.
func RehearsalOf(p *Pass) *Rehearsal { return p.rehearsal }

// Add makes an object an existing child of the parent in a state, such as "ready". The name and the namespace default to the
// parent's.
func (r *Rehearsal) Add(tree map[string]any, state string) error {
	states := []children.State{children.Unknown, children.Progressing, children.Ready, children.Failed, children.Terminating}
	i := slices.IndexFunc(states, func(s children.State) bool { return s.String() == state })
	if i < 0 {
		return fmt.Errorf("there is no state %q of a child", state)
	}
	k, to, err := r.pass.kindOf(&unstructured.Unstructured{Object: tree})
	if err != nil {
		return err
	}
	tree = maps.Clone(tree)
	tree["apiVersion"] = to.resource.APIVersion()
	tree["metadata"] = maps.Clone(metadataOf(tree))
	name, err := r.pass.place(k, to.resource, tree)
	if err != nil {
		return err
	}
	return r.store(k, name, tree, func(d *children.Digest) { d.SetState(states[i], "it is "+state) })
}

// SetVersions replaces the watched objects of a declared resource that concern the parent. Names and versions are as in the result
// of [Pass.Versions].
func (r *Rehearsal) SetVersions(resource resources.Selector, versions map[string]string) error {
	f, owner := r.pass.family, r.pass.owner
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.watched, func(k *watchedKind) bool { return k.declared.Selector == resource })
	if i < 0 {
		return fmt.Errorf("the handler has neither a RefersTo nor a Watches of %s", resource)
	}
	parent := []watched.Name{{Namespace: owner.Namespace, Name: owner.Name}}
	table := watched.NewTable(true)
	table.Follow(owner.UID, parent)
	for key, version := range versions {
		name := watched.Name{Namespace: owner.Namespace, Name: key}
		if namespace, rest, elsewhere := strings.Cut(key, "/"); elsewhere {
			name = watched.Name{Namespace: namespace, Name: rest}
		}
		table.Put(name, version, "another parent", parent) // the owner is no real UID, so the object does not count as a child of this parent
	}
	f.watched[i].table = table
	return nil
}

// SetCondition records a condition that the handler sets. It replaces an earlier one of the same type.
func (r *Rehearsal) SetCondition(c metav1.Condition) {
	r.conditions = slices.DeleteFunc(r.conditions, func(o metav1.Condition) bool { return o.Type == c.Type })
	r.conditions = append(r.conditions, c)
}

// Conditions returns the recorded conditions.
func (r *Rehearsal) Conditions() []metav1.Condition { return r.conditions }

// store makes an object a known child, after adjust has changed its digest.
func (r *Rehearsal) store(k *kind, name childName, tree map[string]any, adjust func(*children.Digest)) error {
	text, err := json.Marshal(tree)
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", k.resource.Kind, name.name, err)
	}
	o, err := object.Parse(text, object.ParseOptions{})
	if err != nil {
		return err
	}
	digest, err := k.lens.Digest(o)
	if err != nil {
		return err
	}
	digest.Entry = 1 // the operator has applied it
	digest.SetOwner(r.pass.owner.UID)
	adjust(&digest)
	c := &child{Digest: digest, kind: k}
	r.pass.family.mu.Lock()
	defer r.pass.family.mu.Unlock()
	k.children[name] = c
	r.pass.parent.children[c] = struct{}{}
	return nil
}

// keep records an applied child, in place of [Pass.keep]. A new child then exists.
func (r *Rehearsal) keep(d *desired) error {
	known := r.pass.known(d)
	switch {
	case known == nil:
		d.tree = d.created
		if err := r.store(d.kind, d.name, d.tree, func(*children.Digest) {}); err != nil {
			return err
		}
	case known.State == children.Terminating:
		return handlers.AsWaiting(fmt.Errorf("%s is being deleted", d), absence)
	}
	i := slices.IndexFunc(r.applied, func(o *desired) bool { return o.kind == d.kind && o.name == d.name })
	if i < 0 {
		r.applied = append(r.applied, d)
	} else {
		r.applied[i] = d
	}
	return nil
}

// label returns the kind and the name of a child, such as "Deployment shop", or "Secret other/shop" outside of the parent's
// namespace.
func (r *Rehearsal) label(d *desired) string {
	if d.name.namespace == r.pass.owner.Namespace || d.name.namespace == "" {
		return d.to.resource.Kind + " " + d.name.name
	}
	return d.to.resource.Kind + " " + d.name.namespace + "/" + d.name.name
}

// Applied returns the names and the trees of the applied children, in the order of their first apply. The names have the form
// "Deployment shop", or "Secret other/shop" outside of the parent's namespace.
func (r *Rehearsal) Applied() (names []string, trees []map[string]any) {
	for _, d := range r.applied {
		names, trees = append(names, r.label(d)), append(trees, d.tree)
	}
	return names, trees
}

// Pruned returns the names, as in Applied, of the children that the operator would prune after the handler has returned nil, in the
// order of the deletions.
func (r *Rehearsal) Pruned() []string {
	if r.pass.applied == nil || r.pass.refused {
		return nil
	}
	var names []string
	for _, wave := range r.pass.waves(func(c *child) bool { return !r.pass.applied[c.kind][c.name()] }) {
		for _, d := range wave {
			names = append(names, r.label(d))
		}
	}
	return names
}

// Decide returns the outcome for the handler's error, and the delay of the next call if nothing changes; 0 if there is no such
// call.
func (r *Rehearsal) Decide(err error, retries int, runtime time.Duration) (out handlers.Outcome, next time.Duration) {
	h := r.pass.family.handler
	out, _ = handlers.Decide(err, nil, h.Limits(), retries, runtime, h.String())
	next = r.pass.recheck
	if out.Delay != nil && !out.Final && (next == 0 || *out.Delay < next) {
		next = *out.Delay
	}
	return out, next
}

// serve sets the guessed resource of each declared kind that may be the kind of an object. The lock must be held.
func (r *Rehearsal) serve(obj any, stated schema.GroupVersionKind) {
	for _, k := range r.pass.family.kinds {
		if k.resource != nil || !couldBe(k, stated) {
			continue
		}
		kind := stated
		if kind.Version == "" {
			kind.Group, kind.Version = k.owned.Selector.Group, k.owned.Selector.Version
		}
		plural, singular := meta.UnsafeGuessKindToResource(kind)
		k.resource = &resources.Resource{
			Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Plural: plural.Resource, Singular: singular.Resource, Preferred: true,
		}
		if name := (schema.GroupKind{Group: kind.Group, Kind: kind.Kind}); k.resource.BuiltIn() {
			k.resource.Namespaced = !slices.Contains(clusterScoped, name)
		} else if o, ok := obj.(metav1.Object); ok {
			k.resource.Namespaced = r.pass.owner.Namespace != "" || o.GetNamespace() != ""
		}
		if !slices.Contains(withoutStatus, kind.Kind) && !strings.HasSuffix(kind.Group, "rbac.authorization.k8s.io") {
			k.resource.Subresources = []string{"status"}
		}
		k.lens = r.pass.family.lensOf(k.owned, k.resource)
	}
}

// withoutStatus are kinds without a status subresource that operators often apply. The kinds of RBAC have none either.
var withoutStatus = []string{
	"ConfigMap", "Endpoints", "EndpointSlice", "IngressClass", "LimitRange", "NetworkPolicy", "PriorityClass", "Secret", "ServiceAccount",
	"StorageClass",
}

// clusterScoped are the cluster-scoped kinds that Kubernetes defines.
var clusterScoped = []schema.GroupKind{
	{Kind: "Namespace"},
	{Kind: "Node"},
	{Kind: "PersistentVolume"},
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"},
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"},
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"},
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"},
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"},
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
	{Group: "apiregistration.k8s.io", Kind: "APIService"},
	{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"},
	{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle"},
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "FlowSchema"},
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "PriorityLevelConfiguration"},
	{Group: "networking.k8s.io", Kind: "IPAddress"},
	{Group: "networking.k8s.io", Kind: "IngressClass"},
	{Group: "networking.k8s.io", Kind: "ServiceCIDR"},
	{Group: "node.k8s.io", Kind: "RuntimeClass"},
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"},
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"},
	{Group: "resource.k8s.io", Kind: "DeviceClass"},
	{Group: "resource.k8s.io", Kind: "ResourceSlice"},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"},
	{Group: "storage.k8s.io", Kind: "CSIDriver"},
	{Group: "storage.k8s.io", Kind: "CSINode"},
	{Group: "storage.k8s.io", Kind: "StorageClass"},
	{Group: "storage.k8s.io", Kind: "VolumeAttachment"},
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"},
}
