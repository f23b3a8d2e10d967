package main

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/runner"
)

func TestE2E_UninstallTellsThenReleases(t *testing.T) {
	cluster, client := startCluster(t)
	kubeconfig := cluster.KubeconfigPath
	objects := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	left := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	left.SetName("left")
	left.SetFinalizers([]string{"kopf.zalando.org/KopfFinalizerMarker"})
	if _, err := objects.Create(t.Context(), left, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := objects.Delete(t.Context(), "left", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, string) {
		t.Helper()
		cmd, stdout, stderr := command(t, "testdata", append([]string{"uninstall", "./failing", "--kubeconfig=" + kubeconfig}, args...)...)
		cmd.Env = inCheckout(cmd.Env)
		if got := code(t, cmd.Run()); got != 0 {
			t.Fatalf("%q: %d, %s", args, got, stderr)
		}
		return stdout.String(), stderr.String()
	}
	const deletes = " (its deletion waits only for finalizers)\n"
	if stdout, stderr := run(); stdout != "configmaps/left in default"+deletes || !strings.Contains(stderr, "nothing was changed; remove all of this with --confirm") {
		t.Errorf("it says %s and %s", stdout, stderr)
	}
	if _, err := objects.Get(t.Context(), "left", metav1.GetOptions{}); err != nil {
		t.Fatalf("the dry run changed it: %v", err)
	}
	if stdout, stderr := run("--confirm"); stdout != "configmaps/left in default: released"+deletes || !strings.Contains(stderr, "FinalizerMarker now: 1\n") {
		t.Errorf("it says %s and %s", stdout, stderr)
	}
	if o, err := objects.Get(t.Context(), "left", metav1.GetOptions{}); err == nil {
		t.Errorf("it is still there: %v", o)
	}
	if stdout, stderr := run("--confirm", "-n", "default"); stdout != "" || !strings.Contains(stderr, "FinalizerMarker now: 0\n") {
		t.Errorf("it says %s and %s", stdout, stderr)
	}
}

// webhookOfGone is a webhook of an operator that was killed: all changes of config maps are refused.
const webhookOfGone = `{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "guarding.kopf.dev"},
	"webhooks": [{"name": "check.guarding.kopf.dev", "clientConfig": {"url": "https://127.0.0.1:1/check"}, "failurePolicy": "Fail", "timeoutSeconds": 1,
	"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["UPDATE"]}],
	"matchPolicy": "Exact", "sideEffects": "None", "admissionReviewVersions": ["v1"]}]}`

// leaseOfGone is a lease that is held until a time.
const leaseOfGone = `{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "guards", "namespace": "default"},
	"spec": {"holderIdentity": "replica-1", "leaseDurationSeconds": 15, "renewTime": "%s"}}`

func TestE2E_UninstallRemovesWebhooksFirst(t *testing.T) {
	cluster, client := startCluster(t)
	kubeconfig := cluster.KubeconfigPath
	create := func(resource schema.GroupVersionResource, namespace, text string) {
		t.Helper()
		o := new(unstructured.Unstructured)
		if err := o.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Resource(resource).Namespace(namespace).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	leases := schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	validating := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	create(configMaps, "default", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "left", "finalizers": ["kopf.zalando.org/KopfFinalizerMarker"]}}`)
	create(validating, "", webhookOfGone)
	create(leases, "default", fmt.Sprintf(leaseOfGone, "2999-01-01T00:00:00.000000Z"))
	eventually(t, "refused", func() bool {
		_, err := client.Resource(configMaps).Namespace("default").Patch(t.Context(), "left", types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil
	})
	run := func(want int, args ...string) (string, string) {
		t.Helper()
		cmd, stdout, stderr := command(t, "testdata", append([]string{"uninstall", "./guarding", "--name=guarding", "--lease=guards", "--kubeconfig=" + kubeconfig}, args...)...)
		cmd.Env = inCheckout(cmd.Env)
		if got := code(t, cmd.Run()); got != want {
			t.Fatalf("%q: %d, %s", args, got, stderr)
		}
		return stdout.String(), stderr.String()
	}
	const configuration, lease = "validatingwebhookconfigurations.admissionregistration.k8s.io/guarding.kopf.dev: 1 webhook", "leases.coordination.k8s.io/guards in default"
	if stdout, stderr := run(0); stdout != configuration+"\nconfigmaps/left in default\n"+lease+"\n" || !strings.Contains(stderr, "replica-1 holds it") {
		t.Errorf("it says %s and %s", stdout, stderr)
	}
	if stdout, stderr := run(1, "--confirm"); stdout != "" || !strings.Contains(stderr, "uninstall: "+lease+": the operator still runs; stop it first: replica-1 holds it") {
		t.Errorf("it says %s and %s", stdout, stderr)
	}
	expired := fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, "2020-01-01T00:00:00.000000Z")
	if _, err := client.Resource(leases).Namespace("default").Patch(t.Context(), "guards", types.MergePatchType, expired, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if stdout, _ := run(0, "--confirm"); stdout != configuration+": removed\nconfigmaps/left in default: released\n"+lease+": removed\n" {
		t.Errorf("it says %s", stdout)
	}
	if stdout, stderr := run(0); stdout != "" || strings.Contains(stderr, "nothing was changed") {
		t.Errorf("it says %s and %s", stdout, stderr)
	}
}

func TestUninstall_InvalidFlags(t *testing.T) {
	for _, test := range []struct{ arg, want string }{
		{"--namespace=app-*", "want the name of a namespace"}, {"--namespace=", "want the name of a namespace"},
		{"--lease=/x", "want NAME or NAMESPACE/NAME"},
	} {
		cmd, _, stderr := command(t, "testdata", "uninstall", "./failing", test.arg)
		if got := code(t, cmd.Run()); got != exitUsage || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%s: %d, %s", test.arg, got, stderr)
		}
	}
}

func TestParsePlatforms_LinuxOnlyOnce(t *testing.T) {
	got, err := parsePlatforms([]string{"linux/amd64", "linux/arm64", "linux/amd64"})
	if err != nil || len(got) != 2 || got[1].Arch != "arm64" {
		t.Errorf("got %v (%v)", got, err)
	}
	for _, bad := range []string{"linux", "darwin/arm64", "linux/", "linux/arm/v7", ""} {
		if got, err := parsePlatforms([]string{bad}); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
	t.Setenv("GOARCH", "arm64")
	if got, err := parsePlatforms(nil); err != nil || len(got) != 1 || got[0] != (runner.Platform{OS: "linux", Arch: "arm64"}) {
		t.Errorf("got %v (%v)", got, err)
	}
}
