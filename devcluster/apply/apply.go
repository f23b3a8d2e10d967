package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

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
}

// Object is an applied object.
type Object struct {
	Resource  schema.GroupVersionResource
	Namespace string // empty for cluster-wide objects
	Name      string
	UID       types.UID
	// ResourceVersion is the version of the object after it was applied.
	ResourceVersion string
}

// Files reads manifests and applies them: first the CustomResourceDefinitions, then, when
// their resources are served, the others. It returns the applied objects in this order. It
// stops at the first object that the server rejects, with an [ObjectError]. If a manifest is
// invalid, it applies nothing; see [Read].
func Files(ctx context.Context, cfg *rest.Config, paths []string, o Options) ([]Object, error) {
	manifests, err := Read(paths)
	if err != nil {
		return nil, err
	}
	return applyAll(ctx, cfg, manifests, o)
}

func applyAll(ctx context.Context, cfg *rest.Config, manifests []Manifest, o Options) ([]Object, error) {
	a, err := newApplier(cfg, o)
	if err != nil {
		return nil, err
	}
	var done []Object
	each := func(wanted func(Manifest) bool) error {
		for _, m := range manifests {
			if !wanted(m) {
				continue
			}
			applied, err := a.apply(ctx, m)
			if err != nil {
				return m.error(err)
			}
			done = append(done, applied)
		}
		return nil
	}
	if err := each(Manifest.isCRD); err != nil {
		return done, err
	}
	if err := a.wait(ctx, manifests); err != nil {
		return done, err
	}
	return done, each(func(m Manifest) bool { return !m.isCRD() })
}

// applier applies objects to one cluster.
type applier struct {
	client    dynamic.Interface
	resources *resources
	namespace string
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
	return &applier{client: dyn, resources: res, namespace: namespace}, nil
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
	got, err := a.client.Resource(res.gvr).Namespace(namespace).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return Object{}, fmt.Errorf("apply: %w", err)
	}
	return Object{
		Resource: res.gvr, Namespace: got.GetNamespace(), Name: got.GetName(),
		UID: got.GetUID(), ResourceVersion: got.GetResourceVersion(),
	}, nil
}

// wait waits until the resources of all CRDs among the manifests are served, even if no other
// manifest uses them: callers may use them at once.
func (a *applier) wait(ctx context.Context, manifests []Manifest) error {
	for _, m := range manifests {
		if !m.isCRD() {
			continue
		}
		for _, gvk := range served(m.Object) {
			if err := a.waitFor(ctx, gvk); err != nil {
				return m.error(err)
			}
		}
	}
	return nil
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
