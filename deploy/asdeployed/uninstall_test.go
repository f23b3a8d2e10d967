package asdeployed

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/deploy/manifests"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/uninstall"
)

// remains are the operator's leftovers in the cluster, with its Deployment.
const remains = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: tried, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app.kubernetes.io/name: tried}}
  template:
    metadata: {labels: {app.kubernetes.io/name: tried}}
    spec: {containers: [{name: operator, image: op}]}
---
apiVersion: kopf.dev/v1
kind: KopfExample
metadata: {name: marked, namespace: default, finalizers: [kopf.zalando.org/KopfFinalizerMarker]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: tried.kopf.dev}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: tried.kopf.dev}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: tried, namespace: default, labels: {kopf.dev/shards: tried}}
spec: {holderIdentity: gone, leaseDurationSeconds: 15, renewTime: "2020-01-01T00:00:00.000000Z"}
---
apiVersion: kopf.dev/v1
kind: ClusterKopfPeering
metadata: {name: tried}
status:
  tried-7f9c5d-x2x4t: {priority: 0, lifetime: 60, lastseen: "2020-01-01T00:00:00.000000+00:00"}
  other-7f9c5d-x2x4t: {priority: 0, lifetime: 60, lastseen: "2020-01-01T00:00:00.000000+00:00"}
`

// TestUninstall_AsTheJobUnderItsRoles runs the operator's program as the printed Job does: with all rules, nothing is
// denied and nothing remains; without any verb of a rule, it fails, lists the leftovers, and succeeds afterwards.
func TestUninstall_AsTheJobUnderItsRoles(t *testing.T) {
	t.Parallel()
	cluster := openCluster(t)
	peering, err := manifests.NewPeering(manifests.PeeringOptions{Name: "tried"})
	if err != nil {
		t.Fatal(err)
	}
	applyText(t, cluster, peering.YAML())
	e := newExample(t, cluster, "testdata/everything")
	for _, variant := range []struct {
		title string
		args  []string
		only  string // the API group whose rules are left out one by one; empty for all
	}{
		{"leader election", []string{"--leader-elect", "--lease=tried", "--peering=tried"}, ""},
		{"shards", []string{"--shards=2", "--lease=tried", "--peering=tried"}, "coordination.k8s.io"},
	} {
		t.Run(variant.title, func(t *testing.T) {
			e.describe(t, slices.Concat([]string{"-A", "--webhook-managed=tried.kopf.dev"}, variant.args)...)
			job := e.uninstallJob(t, variant.args, manifests.UninstallOptions{})
			dry := e.uninstallJob(t, variant.args, manifests.UninstallOptions{DryRun: true})
			applyText(t, cluster, remains)
			if denied, err := e.runJob(t, dry, dry); err != nil || len(denied) > 0 {
				t.Fatalf("dry run: %v, denied: %v", err, denied)
			}
			if got := e.left(t); len(got) != 6 {
				t.Fatalf("after the dry run, only this is left: %q", got)
			}
			tried := 0
			for _, p := range uninstall.Permissions(e.operator, "tried") {
				if variant.only != "" && p.Group != variant.only {
					continue
				}
				for _, verb := range p.Verbs {
					tried++
					without := p
					without.Verbs = []string{verb}
					t.Run("without "+verb+" "+strings.ReplaceAll(p.Resource, "/", "."), func(t *testing.T) { e.failWithout(t, job, without) })
				}
			}
			if tried < 2 {
				t.Errorf("only %d verbs", tried)
			}
			applyText(t, cluster, remains)
			denied, err := e.runJob(t, job, job)
			if got := e.left(t); err != nil || len(denied) > 0 || len(got) > 0 {
				t.Errorf("%v, denied: %v, left: %q", err, denied, got)
			}
		})
	}
}

// uninstallJob returns the manifests of the Job.
func (e *example) uninstallJob(t *testing.T, args []string, o manifests.UninstallOptions) *manifests.Manifests {
	t.Helper()
	m, err := manifests.New(manifests.Options{Name: "tried", Image: "op", Args: args, Certificate: "tried", Operators: []inspect.Description{e.operator}})
	if err != nil {
		t.Fatal(err)
	}
	job, err := m.Uninstall(o)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// failWithout runs the Job without a permission, which must be denied.
func (e *example) failWithout(t *testing.T, job *manifests.Manifests, without inspect.Permission) {
	applyText(t, e.config, remains)
	permitted := lacking(uninstall.Permissions(e.operator, "tried"), &without)
	roles, err := manifests.New(manifests.Options{Name: "tried-uninstall", Operators: []inspect.Description{{Permissions: permitted}}})
	if err != nil {
		t.Fatal(err)
	}
	denied, err := e.runJob(t, job, roles)
	noticed := slices.ContainsFunc(denied, func(d Denial) bool {
		resource, _, _ := strings.Cut(without.Resource, "/")
		return d.Group == without.Group && strings.HasPrefix(d.Resource, resource) && slices.Contains(without.Verbs, d.Verb)
	})
	if got := e.left(t); err == nil || !noticed || len(got) == 0 && without.Verbs[0] != "list" {
		t.Errorf("%v, denied: %v, left: %q", err, denied, got)
	}
}

// runJob runs the program as the Job does, as its user with some roles. It returns the denied requests.
func (e *example) runJob(t *testing.T, job, roles *manifests.Manifests) (denied []Denial, err error) {
	t.Helper()
	grant, err := NewGrant(t.Context(), e.config, roles)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := grant.Revoke(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	var mu sync.Mutex
	proxy, err := NewProxy(e.config, User{job.User(), job.Namespace()}, t.TempDir(), func(d Denial) {
		mu.Lock()
		defer mu.Unlock()
		denied = append(denied, d)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	}()
	cmd := exec.CommandContext(t.Context(), e.binary, append(jobArgs(t, job), "--kubeconfig="+proxy.Kubeconfig)...)
	output, err := cmd.CombinedOutput()
	t.Logf("%q:\n%s", cmd.Args[1:], output)
	if err == nil && !strings.Contains(string(output), "nothing of the operator is left") && !strings.Contains(string(output), "nothing was changed") {
		t.Errorf("it does not say how it ended: %s", output)
	}
	mu.Lock()
	defer mu.Unlock()
	return denied, err
}

// jobArgs returns the arguments of the container in a Job, as the kubelet would expand them.
func jobArgs(t *testing.T, m *manifests.Manifests) []string {
	t.Helper()
	documents := strings.Split(m.YAML(), "---\n")
	var job struct {
		Kind string
		Spec struct {
			Template struct {
				Spec struct {
					ServiceAccountName string
					Containers         []struct{ Args []string }
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(documents[len(documents)-1]), &job); err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.Template.Spec
	if job.Kind != "Job" || len(pod.Containers) != 1 || "system:serviceaccount:default:"+pod.ServiceAccountName != m.User() {
		t.Fatalf("the Job is %+v", job)
	}
	args := pod.Containers[0].Args
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "$(POD_NAMESPACE)", m.Namespace())
	}
	return args
}

// left returns what of the remains is still there.
func (e *example) left(t *testing.T) []string {
	t.Helper()
	client, err := dynamic.NewForConfig(e.config)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, one := range []struct {
		resource        schema.GroupVersionResource
		namespace, name string
		has             string // text in a remaining object; empty if its existence suffices
	}{
		{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "default", "tried", "replicas:1"},
		{schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: "kopfexamples"}, "default", "marked", "finalizers:"},
		{schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}, "", "tried.kopf.dev", ""},
		{schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}, "", "tried.kopf.dev", ""},
		{schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, "default", "tried", ""},
		{schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: "clusterkopfpeerings"}, "", "tried", "tried-7f9c5d-x2x4t:"},
	} {
		o, err := client.Resource(one.resource).Namespace(one.namespace).Get(t.Context(), one.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		o.SetManagedFields(nil)
		if one.has == "" || strings.Contains(fmt.Sprint(o.Object), one.has) {
			all = append(all, one.resource.Resource)
		}
		if one.resource.Resource == "clusterkopfpeerings" && !strings.Contains(fmt.Sprint(o.Object), "other-7f9c5d-x2x4t") {
			t.Error("the record of another operator is gone")
		}
	}
	return all
}
