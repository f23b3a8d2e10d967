package e2e

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Another client changes or removes a field of one child at once, whenever the operator has taken the field back.
func TestChildren_FightIsReportedOnceAndSlowsDown(t *testing.T) {
	for name, data := range map[string]tree{"changed": {"a": "theirs"}, "removed": {"a": nil}} {
		t.Run(name, func(t *testing.T) {
			k := keep(t, tree{"value": "1"}, owning("v1 configmaps"), func(p *kopf.Pass[kopf.Object]) []tree {
				value := kopf.GetOr(p.Object, "spec.value", "")
				return []tree{
					{"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"a": "ours"}},
					{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": "calm"}, "data": tree{"a": value}},
				}
			})
			var fighting atomic.Bool
			fighting.Store(true)
			client := testcluster.Client(t, kube.ClientOptions{})
			followEvents(t, k.Cluster, configMaps, func(_ bool, o tree) {
				now, _ := o["data"].(tree)
				if object.Metadata(o)["name"] != "main" || now["a"] != "ours" || !fighting.Load() {
					return
				}
				_, err := client.Patch(t.Context(), configMaps, k.Namespace, "main", "", kube.MergePatch, []byte(asJSON(tree{"data": data})))
				if err != nil {
					t.Error(err)
				}
			})
			const fight, back = "Another manager changes a field of ConfigMap main again and again: data.a, ", "Took a field of ConfigMap main back: data.a, "
			k.WaitLog(fight)
			if a := alarms(k.Operator, inspect.AlarmFight, 1); a.Field != "data.a" || a.Child.Name != "main" || *a.Object != refOf(k.Operator, "main") {
				t.Errorf("%+v", a)
			}
			k.WaitLogs(back, 8) // after delays of one, two and four seconds
			reverts := k.CountLog(back)
			k.parent.Set("spec.value", "2")
			k.Object("configmaps", "calm").WaitValue("data.a", "2")
			if n := k.CountLog(back); n != reverts {
				t.Errorf("the change of the parent was applied only after %d reverts", n-reverts)
			}
			fighting.Store(false)
			k.Object("configmaps", "main").WaitValue("data.a", "ours")
			if n := k.CountLog(fight); n != 1 {
				t.Errorf("the fight was reported %d times", n)
			}
			k.checkIdle()
			k.parent.Delete()
			alarms(k.Operator, inspect.AlarmFight, 0)
		})
	}
}

// Another client clears the managedFields of a child after each apply, so that nothing proves any longer who owns which field.
func TestChildren_LossOfEntriesIsAFight(t *testing.T) {
	k := keep(t, tree{}, owning("v1 configmaps"), func(*kopf.Pass[kopf.Object]) []tree {
		return []tree{{"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"a": "ours"}}}
	})
	client := testcluster.Client(t, kube.ClientOptions{})
	followEvents(t, k.Cluster, configMaps, func(_ bool, o tree) {
		if object.Metadata(o)["name"] != "main" {
			return
		}
		if _, err := client.Patch(t.Context(), configMaps, k.Namespace, "main", "", kube.MergePatch, []byte(`{"metadata":{"managedFields":[{}]}}`)); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	k.WaitLog("Another client clears the managedFields of ConfigMap main again and again")
	if a := alarms(k.Operator, inspect.AlarmFight, 1); a.Field != "metadata.managedFields" || a.Manager != "" {
		t.Errorf("%+v", a)
	}
	k.WaitLogs("waits: ConfigMap main: others change the same fields again and again (metadata.managedFields", 2)
}

// The handler writes a counter into a Deployment. Each apply changes the status, which begins another pass.
func TestChildren_UnstableTextIsReportedOnceAndSlowsDown(t *testing.T) {
	var counter atomic.Int64
	k := keep(t, tree{"value": "1"}, owning("v1 configmaps", "apps/v1 deployments"), func(p *kopf.Pass[kopf.Object]) []tree {
		template := podTemplate
		if kopf.GetOr(p.Object, "spec.unstable", false) {
			template = object.With(template, object.Path{"metadata", "annotations"}, tree{"at": fmt.Sprint(counter.Add(1))})
		}
		return []tree{
			deployment(tree{"replicas": 0, "template": template}),
			{"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"a": kopf.GetOr(p.Object, "spec.value", "")}},
		}
	})
	k.parent.Set("spec.unstable", true)
	const unstable = "The handler wants a different object for Deployment main again and again, although nothing has changed: spec.template.metadata.annotations.at. "
	k.WaitLog(unstable)
	if a := alarms(k.Operator, inspect.AlarmUnstable, 1); a.Field != "spec.template.metadata.annotations.at" || a.Child.Kind != "Deployment" {
		t.Errorf("%+v", a)
	}
	k.WaitLogs("waits: Deployment main: the handler wants a different object again and again", 3)
	k.parent.Set("spec.value", "2") // a change of the parent is applied at once, to all children
	k.Object("configmaps", "main").WaitValue("data.a", "2")
	applied := 0
	for _, request := range k.written() {
		if strings.Contains(request, "deployments/main") {
			applied++
		}
	}
	if applied > 15 {
		t.Errorf("%d applies", applied)
	}
	if n := k.CountLog("The handler wants a different object for"); n != 1 {
		t.Errorf("reported %d times", n)
	}
	k.parent.Remove("spec.unstable")
	alarms(k.Operator, inspect.AlarmUnstable, 0)
	k.checkIdle()
}

// The ConfigMap mirrors the state of the Deployment, which is no reason for a warning.
func TestChildren_TextThatFollowsStatesIsStable(t *testing.T) {
	k := keep(t, tree{}, owning("v1 configmaps", "apps/v1 deployments"), func(p *kopf.Pass[kopf.Object]) []tree {
		state := "none"
		for c := range p.Children(kopf.Resource("apps/v1", "deployments")) {
			state = c.String() + " " + c.Message
		}
		return []tree{
			deployment(tree{"replicas": kopf.GetOr(p.Object, "spec.replicas", int64(0))}),
			{"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"state": state}},
		}
	})
	for i := range 10 {
		k.parent.Set("spec.replicas", i%2)
		k.settle(k.parent)
	}
	k.Object("deployments", "main").WaitValue("status.availableReplicas", int64(1)) // the last change of its state
	k.checkIdle()
	if n := k.CountLog("again and again"); n > 0 {
		t.Errorf("%d lines of the log:\n%s", n, k.Log())
	}
}

// deployment returns a Deployment with more fields in its spec.
func deployment(more tree) tree {
	return tree{"apiVersion": "apps/v1", "kind": "Deployment", "spec": workload(more)["spec"]}
}
