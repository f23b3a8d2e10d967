package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/devcluster"
)

var (
	configMaps               = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	validatingConfigurations = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	mutatingConfigurations   = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
)

// stamping is an operator that stamps config maps with its version.
const stamping = `package op

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

const version = "%d"

func Register(r *kopf.Registry) {
	kopf.OnMutate(r, kopf.Resource("v1", "configmaps"), stamp, kopf.Webhook{Operations: []kopf.Operation{kopf.OperationCreate}}, kopf.Labels{"stamped": kopf.Present})
}

func stamp(_ context.Context, a *kopf.Admission[kopf.Object]) error {
	a.Patch.Set(kopf.PathOf("data", "version"), version)
	return nil
}
`

// stampingTree creates a module with the operator.
func stampingTree(t *testing.T) (dir string, env []string, save func(version int)) {
	t.Helper()
	return sdkTree(t, stamping)
}

// sdkTree creates a module with an operator, which uses the SDK of this repository. The source has a verb for its
// version.
func sdkTree(t *testing.T, source string) (dir string, env []string, save func(version int)) {
	t.Helper()
	dir, env, put := moduleOfOperator(t)
	save = func(version int) { put(fmt.Sprintf(source, version)) }
	save(0)
	return dir, env, save
}

// moduleOfOperator creates a module for an operator, which uses the SDK of this repository. The code of its package is put there
// by the function.
func moduleOfOperator(t *testing.T) (dir string, env []string, put func(code string)) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir = shortDir(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sdk := filepath.Join(root, "sdk")
	write("go.mod", "module example.com/op\n\ngo 1.26.0\n\nrequire github.com/kopf-dev/kopf/sdk v0.1.0\n")
	write("go.work", fmt.Sprintf("go 1.26.0\n\nuse (\n\t.\n\t%s\n)\n\nreplace github.com/kopf-dev/kopf/sdk v0.1.0 => %s\n", sdk, sdk))
	return dir, []string{"GOWORK=" + filepath.Join(dir, "go.work"), "GOFLAGS=-mod=readonly", "GOPROXY=off"}, func(code string) { write("op.go", code) }
}

// startDev starts kopf dev with the operator. said returns the output so far.
func startDev(t *testing.T, dir string, env []string, args ...string) (cmd *exec.Cmd, said func() string) {
	t.Helper()
	cmd, _, _ = command(t, dir, append([]string{"dev", ".", "-A"}, args...)...)
	cmd.Env = append(append(os.Environ(), asCommand+"=1"), env...)
	out, said := outputFile(t)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, said
}

// stop interrupts a command, and waits for it.
func stop(t *testing.T, cmd *exec.Cmd, said func() string) {
	t.Helper()
	err := errors.Join(cmd.Process.Signal(syscall.SIGINT), cmd.Wait())
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 130) {
		t.Errorf("%v: %s", err, said())
	}
}

// startCluster starts an embedded cluster for the test.
func startCluster(t *testing.T) (*devcluster.Cluster, dynamic.Interface) {
	t.Helper()
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
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return cluster, client
}

// create creates an object in a dry run, and returns the version that it was stamped with: -1 for none.
func create(ctx context.Context, client dynamic.Interface) (int, error) {
	created, err := client.Resource(configMaps).Namespace("default").Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"generateName": "stamped-", "labels": map[string]any{"stamped": "yes"}},
	}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return -1, err
	}
	text, found, err := unstructured.NestedString(created.Object, "data", "version")
	if err != nil || !found {
		return -1, err
	}
	return strconv.Atoi(text)
}

func TestE2E_ReloadsLoseNoReview(t *testing.T) {
	const reloads, perReload = 10, 10
	cluster, client := startCluster(t)
	dir, env, save := stampingTree(t)
	dev, said := startDev(t, dir, env, "--kubeconfig="+cluster.KubeconfigPath)
	eventuallyWithin(t, 3*time.Minute, "reviewed", func() bool {
		version, err := create(t.Context(), client)
		return err == nil && version == 0
	})
	if want := "webhooks: direct, since the API server has an address of this machine; the API server reaches https://127.0.0.1:"; !strings.Contains(said(), want) {
		t.Errorf("it says %s", said())
	}
	total := 0
	for reload := range reloads {
		save(reload + 1)
		// Send requests until the new code has answered the last one.
		for n, done := 0, false; n < perReload || !done; n++ {
			version, err := create(t.Context(), client)
			if err != nil || version < reload || version > reload+1 {
				t.Fatalf("request %d, during reload %d: version %d, %v\n%s", total, reload+1, version, err, said())
			}
			done = version == reload+1
			total++
		}
	}
	if total < reloads*perReload {
		t.Fatalf("there were only %d requests", total)
	}
	t.Logf("%d requests during %d reloads, all reviewed", total, reloads)

	// At the end, nothing is left.
	stop(t, dev, said)
	expectConfigurations(t, client, 0)
	if version, err := create(t.Context(), client); err != nil || version != -1 {
		t.Errorf("after the end: version %d, %v", version, err)
	}
}

// eventuallyWithin is [eventually] with another limit, for what includes a build.
func eventuallyWithin(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	late := time.After(limit)
	for !is() {
		select {
		case <-ticker.C:
		case <-late:
			t.Fatalf("not %s", what)
		}
	}
}

// expectConfigurations checks the number of configurations of both kinds.
func expectConfigurations(t *testing.T, client dynamic.Interface, want int) {
	t.Helper()
	got := 0
	for _, resource := range []schema.GroupVersionResource{validatingConfigurations, mutatingConfigurations} {
		list, err := client.Resource(resource).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got += len(list.Items)
	}
	if got != want {
		t.Errorf("there are %d configurations", got)
	}
}

func TestE2E_LeftoversOfKilledSessionAreRemoved(t *testing.T) {
	cluster, client := startCluster(t)
	dir, env, _ := stampingTree(t)
	flag := "--kubeconfig=" + cluster.KubeconfigPath
	kill := func() {
		t.Helper()
		dev, said := startDev(t, dir, env, flag)
		eventuallyWithin(t, 3*time.Minute, "reviewed", func() bool {
			version, err := create(t.Context(), client)
			return err == nil && version == 0
		})
		if err := dev.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if got := code(t, dev.Wait()); got != -1 {
			t.Errorf("%d, %s", got, said())
		}
	}
	kill()
	expectConfigurations(t, client, 1)
	// Its webhook blocks no request.
	if version, err := create(t.Context(), client); err != nil || version != -1 {
		t.Errorf("after kill -9: version %d, %v", version, err)
	}

	var out, errs strings.Builder
	cleanup := func(args ...string) string {
		t.Helper()
		out.Reset()
		if got := execute(t.Context(), append([]string{"cleanup", flag}, args...), &out, &errs); got != 0 {
			t.Errorf("%d, %s", got, &errs)
		}
		return out.String()
	}
	if said := cleanup("--dry-run"); !strings.HasPrefix(said, "would remove MutatingWebhookConfiguration ") || !strings.HasSuffix(said, ": its process has ended\n") {
		t.Errorf("it says %q", said)
	}
	expectConfigurations(t, client, 1)
	if said := cleanup(); !strings.HasPrefix(said, "removed MutatingWebhookConfiguration ") {
		t.Errorf("it says %q", said)
	}
	expectConfigurations(t, client, 0)
	if said := cleanup(); !strings.HasPrefix(said, "nothing to remove in ") {
		t.Errorf("it says %q", said)
	}

	// The next session does the same, before its own.
	kill()
	dev, said := startDev(t, dir, env, flag)
	eventuallyWithin(t, 3*time.Minute, "removed", func() bool { return strings.Contains(said(), "removed MutatingWebhookConfiguration ") })
	eventuallyWithin(t, 3*time.Minute, "reviewed", func() bool {
		version, err := create(t.Context(), client)
		return err == nil && version == 0
	})
	expectConfigurations(t, client, 1)
	stop(t, dev, said)
	expectConfigurations(t, client, 0)
	expectNoConnections(t)
}

func TestE2E_SettlesWithAdmissionHandlersOnly(t *testing.T) {
	t.Parallel()
	const admitting = "../../../examples/17-admission"
	for _, command := range []string{"run", "dev"} {
		t.Run(command, func(t *testing.T) {
			cmd, stdout, stderr := withCluster(t, shortDir(t), command, admitting,
				"--apply", example+"/crd.yaml", "--apply", admitting+"/obj.yaml", "--until=settled", "--timeout=3m")
			if got := code(t, cmd.Run()); got != 0 {
				t.Fatalf("%d, %s%s", got, stdout, stderr)
			}
			if want := "settled: 2 objects, 1 with nothing to do, 1 without handlers; 0 handlers succeeded, 7 webhooks installed\n"; command == "run" && !strings.HasSuffix(stderr.String(), want) {
				t.Errorf("the last line is missing: %s", stderr)
			}
		})
	}
}

func TestRelay_CommandEndsWithoutClient(t *testing.T) {
	cmd, _, stderr := command(t, t.TempDir(), "relay", "--listen=127.0.0.1:0", "--control=127.0.0.1:0", "--idle=200ms")
	if got := code(t, cmd.Run()); got != 0 {
		t.Errorf("%d, %s", got, stderr)
	}
	if said := stderr.String(); !strings.Contains(said, "The relay is listening") || !strings.Contains(said, "no client for too long") {
		t.Errorf("it says %s", said)
	}
}
