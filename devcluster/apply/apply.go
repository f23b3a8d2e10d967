package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	// fieldManager is the field manager of applied objects.
	fieldManager = "kopf"
	// servedTimeout bounds the wait until the resources of a new CRD are served.
	servedTimeout = 30 * time.Second
	// servedInterval is the interval of the checks; it usually takes some milliseconds.
	servedInterval = 20 * time.Millisecond
)

// Options configure [Files].
type Options struct {
	// Namespace is the namespace of namespaced objects without one. Defaults to "default".
	Namespace string

	// Only selects the manifests to apply. Defaults to all. The others must be valid, too.
	Only func(Manifest) bool

	// DryRun makes the server review and validate the objects without storing them.
	DryRun bool
}

// Object is an applied object.
type Object struct {
	Resource  schema.GroupVersionResource
	Namespace string // empty for cluster-wide objects
	Name      string
	UID       types.UID
	// ResourceVersion is the version of the object after it was applied.
	ResourceVersion string
	// Change is the effect on the object.
	Change Change
}

// Change is the effect of an application on an object.
type Change string

// The changes.
const (
	Created    Change = "created"
	Configured Change = "configured"
	Unchanged  Change = "unchanged"
)

// Files reads manifests and applies them: first the CustomResourceDefinitions, then, when their resources are served,
// the others. It returns the applied objects in this order. It continues after an object that the server rejects; the
// error joins an [ObjectError] for each. If a manifest is invalid, it applies nothing; see [Read].
func Files(ctx context.Context, cfg *rest.Config, paths []string, o Options) ([]Object, error) {
	manifests, err := Read(paths)
	if err != nil {
		return nil, err
	}
	return All(ctx, cfg, manifests, o)
}

// All applies manifests like [Files].
func All(ctx context.Context, cfg *rest.Config, manifests []Manifest, o Options) ([]Object, error) {
	if o.Only != nil {
		manifests = slices.DeleteFunc(slices.Clone(manifests), func(m Manifest) bool { return !o.Only(m) })
		if len(manifests) == 0 {
			return nil, nil
		}
	}
	a, err := newApplier(cfg, o)
	if err != nil {
		return nil, err
	}
	var done []Object
	var rejected []error
	var definitions []Manifest // that the server has accepted
	each := func(isCRD bool) {
		for _, m := range manifests {
			if m.isCRD() != isCRD || ctx.Err() != nil {
				continue
			}
			applied, err := a.apply(ctx, m)
			if err != nil {
				rejected = append(rejected, m.error(err))
				continue
			}
			done = append(done, applied)
			if isCRD {
				definitions = append(definitions, m)
			}
		}
	}
	each(true)
	rejected = append(rejected, a.wait(ctx, definitions)...)
	each(false)
	if ctx.Err() != nil && len(rejected) == 0 {
		return done, context.Cause(ctx)
	}
	return done, errors.Join(rejected...)
}

// applier applies objects to one cluster.
type applier struct {
	client    dynamic.Interface
	resources *resources
	namespace string
	dryRun    []string // see [metav1.ApplyOptions]
}

func newApplier(cfg *rest.Config, o Options) (*applier, error) {
	cfg = rest.CopyConfig(cfg)
	// Sequential requests need no rate limit.
	cfg.QPS = -1
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("configure the connection: %w", err)
	}
	dyn, err := dynamic.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("configure the connection: %w", err)
	}
	res, err := newResources(cfg, client)
	if err != nil {
		return nil, err
	}
	namespace := o.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	a := &applier{client: dyn, resources: res, namespace: namespace}
	if o.DryRun {
		a.dryRun = []string{metav1.DryRunAll}
	}
	return a, nil
}

func (a *applier) apply(ctx context.Context, m Manifest) (Object, error) {
	gvk := m.Object.GroupVersionKind()
	res, err := a.resources.of(ctx, gvk)
	if errors.Is(err, errNotServed) {
		return Object{}, fmt.Errorf("%w: %s in %s; apply its CustomResourceDefinition too, or correct kind and apiVersion", err, gvk.Kind, gvk.GroupVersion())
	}
	if err != nil {
		return Object{}, err
	}
	o, namespace := m.Object.DeepCopy(), ""
	if res.namespaced {
		namespace = o.GetNamespace()
		if namespace == "" {
			namespace = a.namespace
		}
	}
	o.SetNamespace(namespace)
	objects := a.client.Resource(res.gvr).Namespace(namespace)
	former, err := objects.Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return Object{}, fmt.Errorf("read: %w", err)
	}
	if err != nil {
		former = nil
	}
	got, err := objects.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true, DryRun: a.dryRun})
	if err != nil {
		return Object{}, fmt.Errorf("apply: %w", err)
	}
	return Object{
		Change: changeOf(former, got), Resource: res.gvr, Namespace: got.GetNamespace(), Name: got.GetName(),
		UID: got.GetUID(), ResourceVersion: got.GetResourceVersion(),
	}, nil
}

// changeOf compares an object with its previous version, or nil. The bookkeeping of the server does not count: it may
// differ after an application that changed nothing.
func changeOf(former, now *unstructured.Unstructured) Change {
	if former == nil {
		return Created
	}
	before, after := former.DeepCopy(), now.DeepCopy()
	for _, o := range []*unstructured.Unstructured{before, after} {
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
	}
	if equality.Semantic.DeepEqual(before.Object, after.Object) {
		return Unchanged
	}
	return Configured
}

// wait waits until the resources of the applied CRDs are served, even if no other manifest
// uses them: callers may use them at once. It returns an error for each that is not.
func (a *applier) wait(ctx context.Context, definitions []Manifest) []error {
	var errs []error
	for _, m := range definitions {
		for _, gvk := range served(m.Object) {
			if err := a.waitFor(ctx, gvk); err != nil {
				errs = append(errs, m.error(err))
			}
		}
	}
	return errs
}

func (a *applier) waitFor(ctx context.Context, gvk schema.GroupVersionKind) error {
	err := wait.PollUntilContextTimeout(ctx, servedInterval, servedTimeout, true, func(ctx context.Context) (bool, error) {
		_, err := a.resources.of(ctx, gvk)
		if errors.Is(err, errNotServed) {
			return false, nil
		}
		return err == nil, err
	})
	if ctx.Err() == nil && wait.Interrupted(err) {
		return fmt.Errorf("%s is not served after %s; look at the conditions of the CustomResourceDefinition", gvk, servedTimeout)
	}
	return err
}

// served returns the kinds that a CRD serves. The server has validated the CRD before.
func served(crd *unstructured.Unstructured) []schema.GroupVersionKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var all []schema.GroupVersionKind
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok && v["served"] == true {
			name, _, _ := unstructured.NestedString(v, "name")
			all = append(all, schema.GroupVersionKind{Group: group, Version: name, Kind: kind})
		}
	}
	return all
}
