package kustomize

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// golden has the manifests that the tests of package manifests compare with its output.
const golden = "../../deploy/manifests/testdata"

// object is an object of a kustomization, with the fields that refer to others.
type object struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	RoleRef  struct{ Kind, Name string }
	Rules    []struct{ Resources, ResourceNames []string }
	Subjects []struct{ Kind, Name, Namespace string }
	Spec     struct {
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				ServiceAccountName string
				Containers         []struct {
					Image     string
					Args      []string
					Env       []struct{ Name string }
					Resources struct{ Limits map[string]string }
				}
			}
		}
		Selector any // selector of a Service or of a Deployment
	}
}

// build returns the objects of a kustomization with a file of manifests.
func build(t *testing.T, manifests, kustomization string) []object {
	t.Helper()
	folder := t.TempDir()
	text, err := os.ReadFile(filepath.Join(golden, manifests+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{"deploy.yaml": string(text), "kustomization.yaml": kustomization + "\nresources: [deploy.yaml]\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []object
	for _, r := range built.Resources() {
		body, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		var o object
		if err := yaml.Unmarshal(body, &o); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	if want := strings.Count("\n"+string(text), "\napiVersion:"); len(all) != want {
		t.Fatalf("%d objects, want %d", len(all), want)
	}
	return all
}

// find returns the only object of a kind.
func find(t *testing.T, all []object, kind string) object {
	t.Helper()
	i := slices.IndexFunc(all, func(o object) bool { return o.Kind == kind })
	if i < 0 {
		t.Fatalf("there is no %s", kind)
	}
	return all[i]
}

// expectReferences fails the test unless all references between the objects lead to one of them.
func expectReferences(t *testing.T, all []object) {
	t.Helper()
	exists := func(kind, namespace, name string) bool {
		return slices.ContainsFunc(all, func(o object) bool {
			return o.Kind == kind && o.Metadata.Namespace == namespace && o.Metadata.Name == name
		})
	}
	for _, o := range all {
		switch o.Kind {
		case "ClusterRoleBinding", "RoleBinding":
			if !exists(o.RoleRef.Kind, o.Metadata.Namespace, o.RoleRef.Name) {
				t.Errorf("%s %s refers to %s %s", o.Kind, o.Metadata.Name, o.RoleRef.Kind, o.RoleRef.Name)
			}
			for _, s := range o.Subjects {
				if !exists(s.Kind, s.Namespace, s.Name) {
					t.Errorf("%s %s refers to %s %s in %s", o.Kind, o.Metadata.Name, s.Kind, s.Name, s.Namespace)
				}
			}
		case "Deployment", "Job":
			pod := o.Spec.Template.Spec
			if !exists("ServiceAccount", o.Metadata.Namespace, pod.ServiceAccountName) {
				t.Errorf("%s %s refers to the service account %s", o.Kind, o.Metadata.Name, pod.ServiceAccountName)
			}
			// The webhooks are reached by the Service of the pod's namespace that has the name of its service account.
			if i := slices.IndexFunc(pod.Containers[0].Args, func(arg string) bool { return strings.HasPrefix(arg, "--webhook-service=") }); i >= 0 {
				if pod.Containers[0].Args[i] != "--webhook-service=$(POD_NAMESPACE)/$(SERVICE_ACCOUNT)" || !exists("Service", o.Metadata.Namespace, pod.ServiceAccountName) {
					t.Errorf("the webhooks are at %s", pod.Containers[0].Args[i])
				}
			}
		case "Service":
			labels := find(t, all, "Deployment").Spec.Template.Metadata.Labels
			selector, ok := o.Spec.Selector.(map[string]any)
			if !ok || len(selector) == 0 {
				t.Fatalf("the Service selects %v", o.Spec.Selector)
			}
			for key, value := range selector {
				if labels[key] != value {
					t.Errorf("the Service selects %s=%v, and the pods have %v", key, value, labels)
				}
			}
		}
	}
}

// files are the manifests of operators of the whole cluster, and of the Job that removes one.
var files = []string{"cluster", "webhooks", "uninstall-cluster"}

func TestKustomization_KeepsReferences(t *testing.T) {
	for _, transformation := range []string{
		"", "namespace: moved", "namePrefix: team-", "nameSuffix: -two",
		"namePrefix: team-\nnamespace: moved\nlabels: [{pairs: {team: red}, includeSelectors: true}]",
	} {
		for _, file := range files {
			t.Run(file+" "+transformation, func(t *testing.T) {
				all := build(t, file, transformation)
				expectReferences(t, all)
				account := find(t, all, "ServiceAccount").Metadata
				if strings.Contains(transformation, "namespace: moved") && account.Namespace != "moved" || strings.Contains(transformation, "namePrefix") && !strings.HasPrefix(account.Name, "team-") {
					t.Errorf("the service account is %s in %s", account.Name, account.Namespace)
				}
			})
		}
	}
}

func TestKustomization_OfServedNamespacesKeepsReferences(t *testing.T) {
	for _, file := range []string{"namespaces", "replicas", "uninstall-namespaces", "uninstall-shards"} {
		for _, transformation := range []string{"", "namePrefix: team-"} {
			expectReferences(t, build(t, file, transformation))
		}
	}
}

func TestKustomization_SetsImageAndLimits(t *testing.T) {
	const transformation = `
images: [{name: registry.example.com/op, newName: mirror.example.com/op, digest: sha256:0000000000000000000000000000000000000000000000000000000000000000}]
patches:
  - target: {kind: Deployment}
    patch: |
      - {op: replace, path: /spec/template/spec/containers/0/resources/limits/memory, value: 1Gi}
`
	container := find(t, build(t, "cluster", transformation), "Deployment").Spec.Template.Spec.Containers[0]
	if !strings.HasPrefix(container.Image, "mirror.example.com/op@sha256:0000") || container.Resources.Limits["memory"] != "1Gi" {
		t.Errorf("the container is %+v", container)
	}
	job := find(t, build(t, "uninstall-cluster", "images: [{name: op, newTag: v2}]"), "Job").Spec.Template.Spec.Containers[0]
	if job.Image != "op:v2" {
		t.Errorf("the image of the Job is %s", job.Image)
	}
}

// TestKustomization_JobFindsRenamedDeployment renames the operator, and its uninstall Job: an argument of the Job has
// the new name, because a kustomization changes neither arguments nor the names in rules.
func TestKustomization_JobFindsRenamedDeployment(t *testing.T) {
	renamed := find(t, build(t, "cluster", "namePrefix: team-"), "Deployment").Metadata.Name
	if renamed != "team-op" {
		t.Fatalf("the Deployment is %s", renamed)
	}
	for _, transformation := range []string{"", "namePrefix: team-"} {
		all := build(t, "uninstall-prefixed", transformation)
		expectReferences(t, all)
		if args := find(t, all, "Job").Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--deployment=$(POD_NAMESPACE)/"+renamed) {
			t.Errorf("the arguments are %q", args)
		}
		var names []string
		for _, o := range all {
			for _, rule := range o.Rules {
				if slices.Contains(rule.Resources, "deployments/scale") {
					names = append(names, rule.ResourceNames...)
				}
			}
		}
		if !slices.Equal(names, []string{renamed}) {
			t.Errorf("the Job may scale %q", names)
		}
	}
}
