package kopftest

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestOperator_WaitsForChildrenAndDrift(t *testing.T) {
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnReconcile(r, kopf.Resource("kopftest.kopf.dev/v1", "widgets"), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			config := &corev1.ConfigMap{Data: map[string]string{"size": "1"}}
			if err := p.Apply(ctx, config); err != nil {
				return err
			}
			return p.WaitReady(config)
		}, kopf.Own{Resource: kopf.Resource("v1", "configmaps"), ReadyIf: func(child *kopf.Object) error {
			if child.Get("data.leader") == nil {
				return kopf.Permanentf("no leader")
			}
			return nil
		}})
	})
	widget := cluster.Apply(widget)
	config := operator.WaitChild(widget, "configmaps", "one", kopf.ChildFailed)
	config.Set("data.leader", "a")
	operator.WaitChild(widget, "configmaps", "one", kopf.ChildReady)
	config.Set("data.size", "2")
	for _, path := range []string{"data.size", "data"} {
		if drift := operator.WaitDrift(widget, config, path); drift.Path != "data.size" || drift.Manager == "" || drift.Outcome != inspect.DriftReverted {
			t.Errorf("%+v", drift)
		}
	}
	config.WaitValue("data.size", "1")
}

func TestIsWithin_ComparesWholeNames(t *testing.T) {
	for path, want := range map[string]bool{"spec.a": true, "spec.a.b": true, "spec.a[web].image": true, "spec.ab": false, "spec": false} {
		if got := isWithin(path, "spec.a"); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
