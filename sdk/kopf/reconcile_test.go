package kopf_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

type untypedPass = kopf.Pass[kopf.Object]

func reconcileNothing(context.Context, *untypedPass) error { return nil }

var (
	parents   = kopf.Resource("kopf.dev/v1", "kopfexamples")
	ownedMaps = kopf.Resource("v1", "configmaps")
)

func concernsNone(context.Context, *kopf.IndexRequest[kopf.Object]) []types.NamespacedName {
	return nil
}

func TestReconcile_MistakesAreRegistrationErrors(t *testing.T) {
	for name, c := range map[string]struct {
		register func(*kopf.Registry)
		want     string
	}{
		"two handlers of a resource": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing)
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.ID("other"))
		}, "a resource has at most one"},
		"a kind twice": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.Own{Resource: ownedMaps}, kopf.Own{Resource: ownedMaps, Adopt: true})
		}, "v1 configmaps is declared twice"},
		"all resources": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.Own{Resource: kopf.Resource(kopf.Everything)})
		}, "selects several resources"},
		"no resource": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.Own{})
		}, "the resource is not named"},
		"a reference without a field": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.RefersTo(ownedMaps))
		}, "RefersTo: no field of the object names v1 configmaps"},
		"references in a malformed path": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.RefersTo(ownedMaps, "spec..config"))
		}, "RefersTo: the names of v1 configmaps: invalid field"},
		"references in the whole object": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.RefersTo(ownedMaps, ""))
		}, "RefersTo: the names of v1 configmaps: the path is empty"},
		"references to all resources": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.RefersTo(kopf.Resource(kopf.Everything), "spec.name"))
		}, "RefersTo: * selects several resources"},
		"references to no resource": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.RefersTo(kopf.Selector{}, "spec.name"))
		}, "RefersTo: the selector"},
		"references twice": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.RefersTo(ownedMaps, "spec.a"), kopf.RefersTo(ownedMaps, "spec.b"))
		}, "RefersTo: v1 configmaps is given twice"},
		"a watch without a function": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.Watches[kopf.Object](ownedMaps, nil))
		}, "Watches: the function of v1 configmaps is nil"},
		"a watch twice": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.Watches(ownedMaps, concernsNone), kopf.Watches(ownedMaps, concernsNone))
		}, "Watches: v1 configmaps is given twice"},
		"kept and pruned": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.Own{Resource: ownedMaps, Keep: true, Prune: true})
		}, "remove Keep or Prune"},
		"an unknown policy": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.Own{Resource: ownedMaps, Drift: 7})
		}, "want RevertDrift, ReportDrift or YieldDrift"},
		"a negative limit of readiness": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.Own{Resource: ownedMaps, ReadyWithin: -time.Second})
		}, "want a positive duration, or 0 for no limit"},
		"a malformed path": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.Own{Resource: ownedMaps, Observe: []kopf.Path{"a..b"}})
		}, "Observe of v1 configmaps"},
		"a label once": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.Own{Resource: ownedMaps, Once: []kopf.Path{"metadata.labels.app"}})
		}, "Once of v1 configmaps: metadata.labels.app cannot be applied once"},
		"the whole object once": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.Own{Resource: ownedMaps, Once: []kopf.Path{""}})
		}, "Once of v1 configmaps: the path is empty"},
		"an item of a list once": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.Own{Resource: ownedMaps, Once: []kopf.Path{"spec.ports[0]"}})
		}, "Once of v1 configmaps: "},
		"texts of a Secret once": {func(r *kopf.Registry) {
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.Own{Resource: ownedMaps, Once: []kopf.Path{"stringData.password"}})
		}, "stringData.password is applied as data"},
		"the id of a change handler": {func(r *kopf.Registry) {
			kopf.OnCreate(r, parents, func(context.Context, *kopf.Change[kopf.Object]) error { return nil }, kopf.ID("a/b"))
			kopf.OnReconcile(r, parents, reconcileNothing, kopf.ID("a.b"))
		}, "would keep its progress in the same annotation"},
	} {
		t.Run(name, func(t *testing.T) {
			var r kopf.Registry
			c.register(&r)
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "kopf/reconcile_test.go:") {
				t.Errorf("got %v, want an error with the place and %q", err, c.want)
			}
		})
	}
}

func TestReconcile_LiteralHasAnID(t *testing.T) {
	var r kopf.Registry
	kopf.OnReconcile(&r, parents, func(context.Context, *untypedPass) error { return nil }, kopf.Own{Resource: ownedMaps})
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

func TestWaitf_WrapsItsCause(t *testing.T) {
	cause := errors.New("not yet")
	if err := kopf.Waitf(time.Second, "the bucket: %w", cause); !errors.Is(err, cause) || err.Error() != "the bucket: not yet" {
		t.Error(err)
	}
}

func TestPass_WithoutOperatorAppliesNothing(t *testing.T) {
	var p untypedPass
	child := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x"}}}
	if err := p.Apply(t.Context(), child); err == nil {
		t.Error("it pretends to have applied the child")
	}
	if p.Child(child) != nil {
		t.Error("it knows a child")
	}
	for c := range p.Children(ownedMaps) {
		t.Error("it knows", c)
	}
	if err := p.WaitReady(child); err == nil || err.Error() != "x does not exist yet" {
		t.Error(err)
	}
	p.Recheck(time.Second)
}

func TestWake_StringNamesChildAndChanges(t *testing.T) {
	child := &kopf.Child{Resource: kopf.ResourceInfo{Kind: "Deployment"}, Name: "shop", State: kopf.ChildReady}
	for want, w := range map[string]kopf.Wake{
		"start":                                 {Kind: kopf.WakeStart},
		"child Deployment shop: ready, deleted": {Kind: kopf.WakeChild, Type: watch.Deleted, Child: child},
		"child Deployment shop: ready [~status.readyReplicas=0→1]": {
			Kind: kopf.WakeChild, Type: watch.Modified, Child: child, Changes: kopf.Diff{{Path: "status.readyReplicas", Old: 0, New: 1}},
		},
	} {
		if got := w.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
