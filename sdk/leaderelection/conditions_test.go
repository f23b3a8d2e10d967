package leaderelection_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
	"github.com/kopf-dev/kopf/sdk/leaderelection"
)

// shopsCRD defines a resource of a group whose status has conditions by type.
const shopsCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {plural: shops, singular: shop, kind: Shop}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {step: {type: string}}}
          status:
            type: object
            properties:
              observedGeneration: {type: integer, format: int64}
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items: {type: object, required: [type], properties: {type: {type: string}}, x-kubernetes-preserve-unknown-fields: true}
`

// conditionsOf returns the conditions of an object, sorted by their types.
func conditionsOf(o *kopf.Object) string {
	list, _ := o.Get("status.conditions").([]any)
	var all []string
	for _, item := range list {
		c, _ := item.(map[string]any)
		all = append(all, fmt.Sprintf("%v=%v/%v@%v", c["type"], c["status"], c["reason"], c["observedGeneration"]))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// The first leader loses the lease to the second one after a handler has set a condition and before it is written. It leads again later.
func TestLeaderElection_ConditionsOfEachLeaderStay(t *testing.T) {
	t.Parallel()
	cluster := kopftest.New(t)
	group := cluster.Namespace + ".kopf.dev"
	cluster.Apply(fmt.Sprintf(shopsCRD, group))
	begun, ended, proceed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var deposed atomic.Bool
	register := func(replica string) func(*kopf.Registry) {
		shops := kopf.Resource(group+"/v1", "shops")
		return func(r *kopf.Registry) {
			leaderelection.Register(r)
			kopf.Conditions(r, shops)
			set := func(_ context.Context, c *kopf.Change[kopf.Object]) error {
				return c.SetCondition(metav1.Condition{Type: kopf.GetOr(c.Object, "spec.step", ""), Status: metav1.ConditionTrue, Reason: replica})
			}
			kopf.OnCreate(r, shops, set, kopf.ID("set"))
			kopf.OnUpdate(r, shops, set, kopf.ID("set"))
			kopf.OnReconcile(r, shops, func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
				if replica == "first" && kopf.GetOr(p.Object, "spec.step", "") == "Two" && deposed.CompareAndSwap(false, true) {
					close(begun)
					<-ctx.Done()
					close(ended)
					<-proceed
				}
				return nil
			})
		}
	}
	first := cluster.Run(register("first"), elected(cluster, "first"))
	second := cluster.Launch(register("second"), elected(cluster, "second"))
	waitStandby(second, "first")
	shop := cluster.Create(map[string]any{
		"apiVersion": group + "/v1", "kind": "Shop", "metadata": map[string]any{"name": "x"}, "spec": map[string]any{"step": "One"},
	})
	wait := func(generation int, others string) {
		t.Helper()
		want := fmt.Sprintf(others, generation)
		shop.WaitFor("its conditions are "+want, func(o *kopf.Object) bool { return conditionsOf(o) == want })
	}
	wait(1, "One=True/first@1 Ready=True/Complete@%[1]d Reconciling=False/Complete@%[1]d Stalled=False/Complete@%[1]d")
	elect := func(replica string) {
		lease(cluster).Patch(map[string]any{"spec": map[string]any{"holderIdentity": replica}})
	}
	shop.Set("spec.step", "Two")
	<-begun
	elect("second")
	<-ended
	const two = "One=True/first@1 Ready=True/Complete@%[1]d Reconciling=False/Complete@%[1]d Stalled=False/Complete@%[1]d Two=True/second@2"
	wait(2, two)
	second.CheckIdle(shop)
	close(proceed)
	second.CheckIdle(shop)
	elect("first")
	waitStandby(second, "first")
	first.WaitInspect("it leads again", func(s *inspect.Snapshot) bool { return s.Operator.State == inspect.OperatorRunning })
	first.CheckIdle(shop)
	wait(2, two)
	shop.Set("spec.step", "Three")
	wait(3, "One=True/first@1 Ready=True/Complete@%[1]d Reconciling=False/Complete@%[1]d Stalled=False/Complete@%[1]d Three=True/first@3 Two=True/second@2")
	first.CheckIdle(shop)
	for _, op := range []*kopftest.Operator{first, second} {
		if op.CountLog("Another program has changed the conditions") > 0 {
			t.Error("a leader contests the conditions of the other one")
		}
	}
}
