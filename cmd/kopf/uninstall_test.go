package main

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/devcluster"
)

func TestE2E_UninstallTellsThenReleases(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", shortDir(t))
	cluster, err := devcluster.Open(t.Context(), devcluster.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
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
		cmd, stdout, stderr := command(t, "testdata", append([]string{"uninstall", "./failing", "--kubeconfig=" + cluster.KubeconfigPath}, args...)...)
		cmd.Env = inCheckout(cmd.Env)
		if got := code(t, cmd.Run()); got != 0 {
			t.Fatalf("%q: %d, %s", args, got, stderr)
		}
		return stdout.String(), stderr.String()
	}
	const deletes = " (its deletion waits only for finalizers)\n"
	if stdout, stderr := run(); stdout != "configmaps/left in default"+deletes || !strings.Contains(stderr, "nothing was changed; remove the finalizers with --confirm") {
		t.Errorf("it says %s and %s", stdout, stderr)
	}
	if _, err := objects.Get(t.Context(), "left", metav1.GetOptions{}); err != nil {
		t.Fatalf("the dry run changed it: %v", err)
	}
	if stdout, stderr := run("--confirm"); stdout != "configmaps/left in default: released"+deletes || !strings.Contains(stderr, "from 1 objects") {
		t.Errorf("it says %s and %s", stdout, stderr)
	}
	if o, err := objects.Get(t.Context(), "left", metav1.GetOptions{}); err == nil {
		t.Errorf("it is still there: %v", o)
	}
	if stdout, stderr := run("--confirm", "-n", "default"); stdout != "" || !strings.Contains(stderr, "from 0 objects") {
		t.Errorf("it says %s and %s", stdout, stderr)
	}
}

func TestUninstall_RefusesPatternsOfNamespaces(t *testing.T) {
	cmd, _, stderr := command(t, "testdata", "uninstall", "./failing", "-n", "app-*")
	if got := code(t, cmd.Run()); got != exitUsage || !strings.Contains(stderr.String(), "want the name of a namespace") {
		t.Errorf("%d, %s", got, stderr)
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
	if got, err := parsePlatforms(nil); err != nil || len(got) != 1 || got[0].String() != "linux/arm64" {
		t.Errorf("got %v (%v)", got, err)
	}
}
