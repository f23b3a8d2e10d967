package e2e

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

//go:embed testdata/children_forms.yaml
var rewrittenForms string

//go:embed testdata/children_cluster_forms.yaml
var rewrittenClusterForms string

// formsOf returns the objects of a file. NAME is replaced.
func formsOf(t *testing.T, text, name string) (all []tree) {
	t.Helper()
	for _, one := range strings.Split(strings.ReplaceAll(text, "NAME", name), "\n---\n") {
		var object tree
		if err := yaml.Unmarshal([]byte(one), &object); err != nil {
			t.Fatal(err)
		}
		all = append(all, object)
	}
	return all
}

// kindsOf returns the kinds of objects for [owning]. The plurals are regular.
func kindsOf(objects []tree) []string {
	kinds := map[string]bool{}
	for _, o := range objects {
		plural := strings.ToLower(o["kind"].(string))
		switch {
		case strings.HasSuffix(plural, "ss"):
			plural += "es"
		case strings.HasSuffix(plural, "y"):
			plural = strings.TrimSuffix(plural, "y") + "ies"
		case !strings.HasSuffix(plural, "s"):
			plural += "s"
		}
		kinds[o["apiVersion"].(string)+" "+plural] = true
	}
	return slices.Sorted(maps.Keys(kinds))
}

// checkForms checks that 100 passes send nothing. The controllers of claims and volumes write these some seconds after the creation.
// Both kinds have no generation, so that a write by others is followed by a verifying apply.
func checkForms(t *testing.T, k *keeper) {
	t.Helper()
	created := len(k.written())
	for range 100 {
		k.tick()
	}
	sent := k.written()[created:]
	if len(sent) > 6 || slices.ContainsFunc(sent, func(s string) bool { return !strings.Contains(s, " persistentvolume") }) {
		t.Errorf("100 passes have sent %q", sent)
	}
	before := k.written()
	mark := k.LogMark()
	k.Restart()
	k.WaitLogSince(mark, "Handler 'reconcile' succeeded")
	k.settle(k.parent)
	if sent := k.written()[len(before):]; len(sent) > 0 {
		t.Errorf("a restart has sent %q", sent)
	}
	k.checkIdle()
	for _, line := range []string{"Took a field", "failed", "Left a field"} {
		if n := k.CountLog(line); n > 0 {
			t.Errorf("%d lines of the log have %q", n, line)
		}
	}
}

func TestChildren_FormsThatServersRewriteAreSentOnce(t *testing.T) {
	cluster := newCluster(t)
	group := cluster.Namespace + ".forms.dev"
	objects := formsOf(t, rewrittenForms, group)
	cluster.ApplyAll(strings.ReplaceAll(formDefinitions, "NAME", group))
	rewriteImages(cluster)
	k := &keeper{t: t, Cluster: cluster, own: ownResource(cluster)}
	k.run(owning(kindsOf(objects)...), func(*kopf.Pass[kopf.Object]) []tree { return objects })
	k.parent = k.Create(k.own.of(tree{"metadata": tree{"name": "main"}}))
	k.settle(k.parent)
	t.Logf("%d objects of %d kinds", len(objects), len(kindsOf(objects)))
	image := k.Object("replicasets", "rewritten").Get().Get("spec.template.spec.containers[0].image")
	if image != "mirror.example.com/web" {
		t.Errorf("the policy has not changed the image %v", image)
	}
	checkForms(t, k)
}

func TestChildren_ClusterScopedFormsAreSentOnce(t *testing.T) {
	cluster := newCluster(t)
	objects := formsOf(t, rewrittenClusterForms, cluster.Namespace)
	k := &keeper{t: t, Cluster: cluster, own: custom{group: cluster.Namespace + ".kopf.dev", plural: "tenants", kind: "Tenant"}}
	cluster.Apply(strings.ReplaceAll(tenantDefinition, "NAME", cluster.Namespace))
	k.run(owning(kindsOf(objects)...), func(*kopf.Pass[kopf.Object]) []tree { return objects })
	k.parent = k.Create(k.own.of(tree{"metadata": tree{"name": cluster.Namespace}}))
	k.settle(k.parent)
	checkForms(t, k)
}

// rewriteImages adds a policy that rewrites the images of ReplicaSets, and waits until it is in force.
func rewriteImages(cluster *kopftest.Cluster) {
	cluster.T().Helper()
	cluster.ApplyAll(strings.ReplaceAll(imagePolicy, "NAME", cluster.Namespace))
	cluster.WaitUntil("the policy is in force", func() bool {
		answer := cluster.TryCreate(tree{
			"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": tree{"name": "probe"},
			"spec": tree{
				"replicas": 0, "selector": tree{"matchLabels": tree{"app": "x"}},
				"template": tree{
					"metadata": tree{"labels": tree{"app": "x"}},
					"spec":     tree{"containers": []any{tree{"name": "web", "image": "web"}}},
				},
			},
		}, kopftest.DryRun())
		return answer.Err == nil && answer.Object.Get("spec.template.spec.containers[0].image") != "web"
	})
}

const imagePolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAME}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [replicasets]}]
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: '[JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "mirror.example.com/web"}]'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAME}
spec:
  policyName: NAME
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAME}}}
`

const tenantDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tenants.NAME.kopf.dev}
spec:
  group: NAME.kopf.dev
  scope: Cluster
  names: {plural: tenants, singular: tenant, kind: Tenant}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

const formDefinitions = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: defaulteds.NAME}
spec:
  group: NAME
  scope: Namespaced
  names: {plural: defaulteds, singular: defaulted, kind: Defaulted}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
          spec:
            type: object
            default: {}
            properties:
              size: {type: integer, default: 3}
              mode: {type: string, default: fast}
              port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              ratio: {type: number}
              pruned: {type: object, properties: {kept: {type: string}}}
              listeners:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name, protocol]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, protocol: {type: string, default: TCP}, weight: {type: integer, default: 1}}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              rules: {type: array, x-kubernetes-list-type: atomic, items: {type: object, properties: {host: {type: string}, path: {type: string, default: /}}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: schemalesses.NAME}
spec:
  group: NAME
  scope: Namespaced
  names: {plural: schemalesses, singular: schemaless, kind: Schemaless}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
