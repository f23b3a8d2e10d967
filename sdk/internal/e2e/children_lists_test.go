package e2e

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// mapsSpec has the names of the ConfigMaps that a mapsOperator keeps. The handler fails with Fail, and waits with Wait, after it has
// applied them. With Skip, it does not call Apply.
type mapsSpec struct {
	Spec struct {
		Names []string `json:"names"`
		Value string   `json:"value"`
		Fail  string   `json:"fail"`
		Wait  string   `json:"wait"`
		Skip  bool     `json:"skip"`
	} `json:"spec"`
}

// mapsOperator keeps ConfigMaps by names from the object.
type mapsOperator struct {
	own    custom
	kinds  kopf.Own
	passes calls
}

func (o *mapsOperator) register(r *kopf.Registry) {
	kopf.OnReconcile(r, o.own.selector(), o.reconcile, o.kinds)
}

func (o *mapsOperator) reconcile(ctx context.Context, p *kopf.Pass[mapsSpec]) error {
	defer o.passes.add(p.Name)
	spec := &p.Object.Spec
	if !spec.Skip {
		var objs []metav1.Object
		for _, name := range spec.Names {
			objs = append(objs, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"value": spec.Value}})
		}
		if err := p.Apply(ctx, objs...); err != nil {
			return err
		}
	}
	switch {
	case spec.Fail == "permanently":
		return kopf.Permanentf("told to fail")
	case spec.Fail != "":
		return kopf.Temporaryf(0, "told to fail")
	case spec.Wait != "":
		return kopf.Waitf(0, "told to wait")
	}
	return nil
}

// newMaps returns an operator that does not run yet.
func newMaps(t *testing.T, kinds kopf.Own) (*kopftest.Cluster, *mapsOperator) {
	t.Helper()
	cluster := newCluster(t)
	kinds.Resource = kopf.Resource("v1", "configmaps")
	return cluster, &mapsOperator{own: ownResource(cluster), kinds: kinds}
}

// parent returns an object that wants ConfigMaps.
func (o *mapsOperator) parent(name string, names ...any) tree {
	return o.own.of(tree{"metadata": tree{"name": name}, "spec": tree{"names": names, "value": "new"}})
}

// configMap returns a ConfigMap of another client.
func configMap(name string, metadata tree) tree {
	meta := tree{"name": name}
	for key, value := range metadata {
		meta[key] = value
	}
	return tree{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": tree{"other": "theirs"}}
}

// same fails the test if an object differs from an earlier version.
func same(t *testing.T, o *kopftest.Object, before *kopf.Object) {
	t.Helper()
	if got := o.Get(); asJSON(got) != asJSON(before) {
		t.Errorf("%s is now\n%s\nwant\n%s", o, asJSON(got), asJSON(before))
	}
}
