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
	// fieldManager owns the fields that are applied.
	fieldManager = "kopf"
	// servedTimeout bounds the wait until the resource of a new CRD is served.
	servedTimeout = 30 * time.Second
	// servedInterval is how often it is looked at: it usually takes some milliseconds.
	servedInterval = 20 * time.Millisecond
)

// Options are for what the manifests leave open.
type Options struct {
	// Namespace is for namespaced objects without one. Empty means default.
	Namespace string
	// Applied is called with each object as soon as the cluster has it. Nil is fine.
	Applied func(Object)
}

// Object is what the cluster made of a manifest.
type Object struct {
	File       string
	Line       int
	Resource   schema.GroupVersionResource
	Kind       string
	Namespace  string // empty for cluster-wide ones
	Name       string
	UID        types.UID
	Generation int64
	// ResourceVersion is the version that was applied: whoever has seen this one, or a
	// later one, has seen the manifest's content.
	ResourceVersion string
}

// Files reads manifests and applies them; see [Read] and [Apply].
func Files(ctx context.Context, cfg *rest.Config, paths []string, o Options) ([]Object, error) {
	manifests, err := Read(paths)
	if err != nil {
		return nil, err
	}
	return Apply(ctx, cfg, manifests, o)
}

// Apply brings manifests to the cluster: the CustomResourceDefinitions, and when those are served
// the others, each in the given order. It stops at the first one that
// is refused, with an [ObjectError], and returns those before it.
func Apply(ctx context.Context, cfg *rest.Config, manifests []Manifest, o Options) ([]Object, error) {
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
			if o.Applied != nil {
				o.Applied(applied)
			}
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

// applier has what all objects need.
type applier struct {
	client    dynamic.Interface
	resources *resources
	namespace string
}

func newApplier(cfg *rest.Config, o Options) (*applier, error) {
	cfg = rest.CopyConfig(cfg)
	// One after the other there is nothing to protect the server from.
	cfg.QPS = -1
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection: %w", err)
	}
	dyn, err := dynamic.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("preparing the connection: %w", err)
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
		return Object{}, fmt.Errorf("%w: %s in %s; apply its CustomResourceDefinition, too, or correct kind and apiVersion", err, gvk.Kind, gvk.GroupVersion())
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
		return Object{}, fmt.Errorf("applying: %w", err)
	}
	return Object{
		File: m.File, Line: m.Line, Resource: res.gvr, Kind: gvk.Kind,
		Namespace: got.GetNamespace(), Name: got.GetName(), UID: got.GetUID(), Generation: got.GetGeneration(), ResourceVersion: got.GetResourceVersion(),
	}, nil
}

// wait returns when the resources of all CRDs among the manifests are served. Also nobody
// who is told that they are applied should meet a server that does not know them.
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

// served lists the kinds that a CRD defines. What it lacks, the server has complained about.
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
