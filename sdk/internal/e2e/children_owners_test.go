package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// imageOf is a kind whose child has the image of its parent.
func imageOf(kind, version string) func(p *kopf.Pass[kopf.Object]) []tree {
	return func(p *kopf.Pass[kopf.Object]) []tree {
		image := kopf.GetOr(p.Object, "spec.image", "v0")
		template := object.With(podTemplate, object.Path{"spec"}, tree{"containers": []any{tree{"name": "web", "image": image}}})
		spec := object.With(workload(tree{"replicas": 3})["spec"].(tree), object.Path{"template"}, template)
		if kind == "StatefulSet" {
			spec["serviceName"] = "x"
		}
		return []tree{{"apiVersion": version, "kind": kind, "spec": spec}}
	}
}

func TestChildren_ScaleStaysWithItsOwner(t *testing.T) {
	for kind, plural := range map[string]string{"Deployment": "deployments", "StatefulSet": "statefulsets"} {
		t.Run(kind, func(t *testing.T) {
			k := keep(t, tree{"image": "v0"}, owning("apps/v1 "+plural), imageOf(kind, "apps/v1"))
			d := edit(k, edited{version: "apps/v1", plural: plural}, kind)
			d.request(http.MethodPatch, "/scale", "application/merge-patch+json", tree{"spec": tree{"replicas": 7}})
			generation := int64(0)
			for i := range 30 {
				image := strings.Repeat("v", i+1)
				k.parent.Set("spec.image", image)
				o := d.child.WaitValue("spec.template.spec.containers[0].image", image)
				if o.Get("spec.replicas") != int64(7) {
					t.Fatalf("image %d: %v replicas", i, o.Get("spec.replicas"))
				}
				if now := o.Get("metadata.generation").(int64); i > 0 && now != generation+1 {
					t.Errorf("image %d: the generation has risen from %d to %d", i, generation, now)
				} else {
					generation = now
				}
			}
			k.checkIdle()
			for _, line := range []string{"Took a field", "Left a field"} {
				if k.CountLog(line) > 0 {
					t.Errorf("the log has %q", line)
				}
			}
		})
	}
}

func TestChildren_LostLabelLeavesTheScale(t *testing.T) {
	k := keep(t, tree{"image": "v0"}, owning("apps/v1 deployments"), imageOf("Deployment", "apps/v1"))
	d := edit(k, edited{version: "apps/v1", plural: "deployments"}, "Deployment")
	d.request(http.MethodPatch, "/scale", "application/merge-patch+json", tree{"spec": tree{"replicas": 7}})
	k.settle(k.parent) // the pass for the scaling must not restore the label
	d.child.Unlabel("kopf.dev/owned-by")
	o := d.child.WaitFor("it has the label", func(o *kopf.Object) bool {
		return kopf.GetOr(o, "metadata.labels", tree{})["kopf.dev/owned-by"] != nil
	})
	if o.Get("spec.replicas") != int64(7) {
		t.Errorf("it has %v replicas", o.Get("spec.replicas"))
	}
}

func TestChildren_ClearedManagedFieldsAreRestored(t *testing.T) {
	for name, clear := range map[string]func(d *editor){
		"update": func(d *editor) {
			d.update(func(o tree) tree { return object.With(o, object.Path{"metadata", "managedFields"}, []any{}) })
		},
		"patch": func(d *editor) { d.merge(tree{"metadata": tree{"managedFields": []any{tree{}}}}) },
	} {
		for _, down := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " without the operator"}[down], func(t *testing.T) {
				k := keep(t, tree{"extra": true}, owning("v1 configmaps"), func(p *kopf.Pass[kopf.Object]) []tree {
					data := tree{"a": "1"}
					if kopf.GetOr(p.Object, "spec.extra", false) {
						data["b"] = "2"
					}
					return []tree{{"apiVersion": "v1", "kind": "ConfigMap", "data": data}}
				})
				d := edit(k, edited{version: "v1", plural: "configmaps"}, "ConfigMap")
				before := len(k.written())
				if down {
					k.Stop()
				}
				clear(d)
				if down {
					k.Start()
				}
				k.WaitUntil("the operator alone owns fields", func() bool { return slices.Equal(managersOf(d.read()), []string{"kopf.dev"}) })
				k.settle(k.parent)
				forced := slices.DeleteFunc(k.written()[before:], func(s string) bool { return !strings.Contains(s, "force=true") })
				if len(forced) != 1 {
					t.Errorf("%d forced applies: %q", len(forced), k.written()[before:])
				}
				k.parent.Remove("spec.extra")
				d.child.WaitValue("data", tree{"a": "1"})
				k.checkIdle()
			})
		}
	}
}

// managersOf returns the owners of fields, without what follows a slash.
func managersOf(o tree) (names []string) {
	entries, _ := o["metadata"].(tree)["managedFields"].([]any)
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry.(tree)["manager"].(string), "/")
		names = append(names, name)
	}
	return names
}

func TestChildren_DriftThatStaysIsLeftToItsOwner(t *testing.T) {
	for name, policy := range map[string]kopf.DriftPolicy{"report": kopf.ReportDrift, "yield": kopf.YieldDrift} {
		t.Run(name, func(t *testing.T) {
			own := owning("v1 configmaps")
			own[0].Drift = policy
			k := keep(t, tree{"value": "1"}, own, func(p *kopf.Pass[kopf.Object]) []tree {
				return []tree{{"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"a": "1", "b": kopf.GetOr(p.Object, "spec.value", "")}}}
			})
			d := edit(k, edited{version: "v1", plural: "configmaps"}, "ConfigMap")
			d.apply(tree{"data": tree{"a": "9"}})
			if policy == kopf.ReportDrift {
				k.WaitLog("Left a field of ConfigMap main to other: data.a")
			}
			k.settle(k.parent)
			k.parent.Set("spec.value", "2")
			if o := d.child.WaitValue("data.b", "2"); o.Get("data.a") != "9" {
				t.Errorf("the data are %v", o.Get("data"))
			}
			k.checkIdle()
			if n := k.CountLog("Left a field of ConfigMap main to other: data.a"); (n > 0) != (policy == kopf.ReportDrift) || n > 3 {
				t.Errorf("%d lines of the log say that a field was left", n)
			}
			if k.CountLog("Took a field") > 0 {
				t.Error("the field was taken back")
			}
			d.apply(tree{}) // the manager gives the field up
			d.child.WaitValue("data", tree{"a": "1", "b": "2"})
			k.checkIdle()
		})
	}
}

func TestChildren_ChangesWithoutTraceAreVerified(t *testing.T) {
	k := keep(t, tree{}, owning("apps/v1 deployments"), func(*kopf.Pass[kopf.Object]) []tree {
		template := object.With(podTemplate, object.Path{"spec"}, tree{"containers": []any{tree{
			"name": "web", "image": "web", "env": []any{tree{"name": "A", "value": "1"}, tree{"name": "B", "value": "2"}},
		}}})
		spec := object.With(workload(tree{"replicas": 0})["spec"].(tree), object.Path{"template"}, template)
		return []tree{{"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}}
	})
	d := edit(k, edited{version: "apps/v1", plural: "deployments"}, "Deployment")
	env := object.Path{"spec", "template", "spec", "containers"}
	for name, change := range map[string]tree{
		"order":    {"name": "web", "image": "web", "env": []any{tree{"name": "B", "value": "2"}, tree{"name": "A", "value": "1"}}},
		"old copy": {"name": "web", "image": "web", "env": []any{tree{"name": "A", "value": "9"}, tree{"name": "B", "value": "2"}}},
	} {
		before := d.update(func(o tree) tree { return object.With(o, env, []any{change}) }) // with the managedFields
		d.child.WaitFor("it is repaired after "+name, func(o *kopf.Object) bool {
			return o.Get("spec.template.spec.containers[0].env[0].name") == "A" && o.Get("spec.template.spec.containers[0].env[0].value") == "1" &&
				o.Get("metadata.generation").(int64) > int64(before["metadata"].(tree)["generation"].(float64))
		})
		k.settle(k.parent)
	}
	k.checkIdle()
}
