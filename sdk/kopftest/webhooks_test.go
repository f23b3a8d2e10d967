package kopftest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/webhook"
)

// reviewer denies objects of a size, and keeps the namespaces that it is asked about.
type reviewer struct {
	mu         sync.Mutex
	namespaces []string
}

func (v *reviewer) register(denied int64) func(*kopf.Registry) {
	return func(r *kopf.Registry) {
		kopf.OnValidate(r, widgets, func(_ context.Context, a *kopf.Admission[kopf.Object]) error {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.namespaces = append(v.namespaces, a.Namespace)
			if a.Object.Get("spec.size") == denied {
				return kopf.AdmissionError{Message: "not this size"}
			}
			return nil
		}, kopf.ID("check"))
		kopf.OnMutate(r, widgets, func(_ context.Context, a *kopf.Admission[kopf.Object]) error {
			a.Patch.Set("spec.mutated", true)
			return nil
		}, kopf.ID("change"))
	}
}

func (v *reviewer) asked() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Compact(slices.Clone(v.namespaces))
}

const bigWidget = "{apiVersion: kopftest.kopf.dev/v1, kind: Widget, metadata: {name: big}, spec: {size: 2}}"

func TestRun_AdmissionHandlersOfTwoTestsReviewTheirOwnNamespaces(t *testing.T) {
	t.Parallel()
	one, other := New(t), New(t)
	one.Apply(widgetsCRD)
	var first, second reviewer
	op := one.Run(first.register(1))
	op.WaitWebhooks(bigWidget)
	another := other.Run(second.register(2))
	another.WaitWebhooks(widget)
	if answer := one.TryCreate(widget); answer.Err == nil {
		t.Error("the object is not denied")
	}
	if answer := one.TryCreate(bigWidget); answer.Err != nil || answer.Object.Get("spec.mutated") != true {
		t.Errorf("%v: %v", answer.Err, answer.Object)
	}
	if answer := other.TryCreate(widget); answer.Err != nil {
		t.Error(answer.Err)
	}
	if !slices.Equal(first.asked(), []string{one.Namespace}) || !slices.Equal(second.asked(), []string{other.Namespace}) {
		t.Errorf("asked about %q and %q; the namespaces are %s and %s", first.asked(), second.asked(), one.Namespace, other.Namespace)
	}
}

func TestWaitWebhooks_ObjectThatNoWebhookReviewsFailsAtOnce(t *testing.T) {
	t.Parallel()
	c := New(t)
	c.Apply(widgetsCRD)
	var r reviewer
	op := c.Run(r.register(1))
	failure := failureOf(t, func(tb testing.TB) {
		cluster, doomed := *c, *op
		cluster.t, doomed.cluster = printed{tb}, &cluster
		doomed.WaitWebhooks("{apiVersion: kopftest.kopf.dev/v1, kind: Widget, metadata: {name: y, labels: {on: true}}}")
	})
	wantAll(t, failure, "before any webhook reviews it", "labels")
}

func TestRun_WebhooksOfKilledOperatorAreDeletedAtTheEnd(t *testing.T) {
	t.Parallel()
	var cluster *Cluster
	exist := func(t *testing.T) (names []string) {
		for i := range configurations {
			list, err := cluster.client.List(t.Context(), &configurations[i], "", kube.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range list.Items {
				if o.Name == "operator1."+cluster.Namespace+".kopf.dev" {
					names = append(names, o.Name)
				}
			}
		}
		return names
	}
	t.Run("operator", func(t *testing.T) {
		cluster = New(t)
		cluster.Apply(widgetsCRD)
		op := cluster.Run(new(reviewer).register(1))
		op.WaitWebhooks(bigWidget)
		if n := len(exist(t)); n != 2 {
			t.Errorf("%d configurations", n)
		}
		object := cluster.Apply(bigWidget) // cleaning up patches it
		object.Patch(map[string]any{"metadata": map[string]any{"finalizers": []any{"kopf.dev/test"}}})
		op.Kill()
	})
	if left := exist(t); left != nil {
		t.Errorf("left: %v", left)
	}
}

func TestRun_OwnWebhookSettingsAreKept(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	own := "own." + cluster.Namespace + ".kopf.dev"
	for want, register := range map[string]func(*kopf.Registry){
		"": new(reviewer).register(1),
		own: func(r *kopf.Registry) {
			new(reviewer).register(1)(r)
			kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
				a.Settings.Admission.Managed = own
				return nil
			}, kopf.ID("settings"))
		},
	} {
		op := cluster.Run(register, func(o *kopf.Operator) { o.Settings.Admission.Server = &webhook.Server{} })
		op.WaitInspect("the configurations are known", func(s *inspect.Snapshot) bool { return s.Admission != nil && s.Admission.Managed == want })
		op.Stop()
		for i := range configurations {
			if err := cluster.delete(t.Context(), &configurations[i], "", own); err != nil {
				t.Error(err)
			}
		}
	}
}
