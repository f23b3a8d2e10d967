package k3d

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-dev/kopf/devcluster"
)

var (
	examplesResource   = schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: "kopfexamples"}
	podsResource       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	servicesResource   = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	validatingResource = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	mutatingResource   = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
)

// admissionWait bounds the start of an operator with admission handlers, including its compilation.
const admissionWait = 5 * time.Minute

// TestE2E_AdmissionHandlersOfOperator runs an operator with admission handlers on this machine, outside of the
// cluster's network.
func TestE2E_AdmissionHandlersOfOperator(t *testing.T) {
	w := newWorld(t)
	defer w.expectNothingLeft()
	info, err := w.create(t.Context(), "lab")
	if err != nil {
		t.Fatal(err)
	}
	defer w.must("cluster", "delete", "lab")
	client := clientOf(t, info)

	t.Run("through host.k3d.internal", func(t *testing.T) {
		w := w.in(t)
		o := w.startAdmission()
		o.says("webhooks: k3d, since the cluster is one of k3d; the API server reaches https://host.k3d.internal:")
		o.says("(listens at " + w.gateway("lab") + ":") // and so is open to no other network
		o.expectReviews(client)
		o.interrupt()
		expectNoWebhooks(t, client)
	})

	t.Run("through a relay", func(t *testing.T) {
		w := w.in(t)
		o := w.startAdmission("--webhook=relay", "--webhook-relay-image="+standIn)
		o.says("webhooks: relay, ")
		o.says("the API server reaches service default/kopf-relay-")
		o.expectReviews(client)

		// A new pod takes the place of one that has gone, such as with its node.
		relays := client.Resource(podsResource).Namespace("default")
		old := onlyOne(t, relays)
		if err := relays.Delete(t.Context(), old.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		o.says("the tunnel by relay is lost")
		o.says("the tunnel is open again: relay")
		if now := onlyOne(t, relays); now.GetUID() == old.GetUID() {
			t.Error("the pod is still the same")
		}
		o.expectReviews(client)
		o.interrupt()
		expectNoWebhooks(t, client)
		for _, resource := range []schema.GroupVersionResource{podsResource, servicesResource} {
			w.eventually("nothing is left of the relay", func() bool {
				left, err := client.Resource(resource).Namespace("default").List(t.Context(), metav1.ListOptions{LabelSelector: "kopf.dev/session"})
				return err == nil && len(left.Items) == 0
			})
		}
	})
}

// in returns the world for a subtest.
func (w *world) in(t *testing.T) *world {
	inner := *w
	inner.t = t
	return &inner
}

// gateway returns the address of this machine in the network of a cluster.
func (w *world) gateway(name string) string {
	w.t.Helper()
	n, err := w.findNetwork(w.t.Context(), name)
	if err != nil || n == nil || len(n.IPAM.Config) == 0 {
		w.t.Fatalf("the network is %+v, %v", n, err)
	}
	return n.IPAM.Config[0].Gateway
}

// eventually waits until a condition holds.
func (w *world) eventually(what string, holds func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), admissionWait)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			w.t.Fatalf("not in time: %s", what)
		case <-tick.C:
		}
	}
}

func clientOf(t *testing.T, info devcluster.Info) dynamic.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", info.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// onlyOne returns the only object that is not being deleted.
func onlyOne(t *testing.T, client dynamic.ResourceInterface) unstructured.Unstructured {
	t.Helper()
	all, err := client.List(t.Context(), metav1.ListOptions{LabelSelector: "kopf.dev/session"})
	if err != nil {
		t.Fatal(err)
	}
	var found []unstructured.Unstructured
	for _, o := range all.Items {
		if o.GetDeletionTimestamp() == nil {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("there are %d", len(found))
	}
	return found[0]
}

// admission is kopf run with the example that has admission handlers.
type admission struct {
	*world
	cmd    *exec.Cmd
	output string // the path of its output
	number int    // number of created objects
}

// startAdmission starts the operator.
func (w *world) startAdmission(args ...string) *admission {
	w.t.Helper()
	args = append([]string{"run", "./examples/17-admission", "--cluster=lab", "-A", "--apply", "examples/crd.yaml"}, args...)
	o := &admission{world: w, cmd: w.command(args...), output: filepath.Join(w.t.TempDir(), "output")}
	file, err := os.Create(o.output)
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Close() // the command has its own
	o.cmd.Stdout, o.cmd.Stderr = file, file
	if err := o.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if o.cmd.ProcessState == nil {
			_ = o.cmd.Process.Kill()
			_ = o.cmd.Wait()
		}
		if w.t.Failed() {
			w.t.Log(o.said())
		}
	})
	return o
}

func (o *admission) said() string {
	body, err := os.ReadFile(o.output)
	if err != nil {
		o.t.Fatal(err)
	}
	return string(body)
}

// says waits until the command has printed a text.
func (o *admission) says(text string) {
	o.t.Helper()
	o.eventually(fmt.Sprintf("it says %q", text), func() bool { return strings.Contains(o.said(), text) })
}

// expectReviews fails unless the operator denies an object that its handler refuses, in the words of the
// handler, and changes one with a label. The API server learns of configurations with a delay, and ignores
// failures of webhooks of development.
func (o *admission) expectReviews(client dynamic.Interface) {
	o.t.Helper()
	create := func(field string) (*unstructured.Unstructured, error) {
		o.number++
		return client.Resource(examplesResource).Namespace("default").Create(o.t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "kopf.dev/v1", "kind": "KopfExample",
			"metadata": map[string]any{"name": fmt.Sprintf("reviewed-%d", o.number), "labels": map[string]any{"somelabel": "somevalue"}},
			"spec":     map[string]any{"field": field},
		}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	var last error
	o.eventually("the operator denies an object", func() bool {
		_, last = create("not-allowed")
		return last != nil && strings.Contains(last.Error(), "I'm too lazy anyway")
	})
	if status, ok := last.(apierrors.APIStatus); !ok || status.Status().Code != 555 {
		o.t.Errorf("the denial is %v", last)
	}
	o.eventually("the operator changes an object", func() bool {
		created, err := create("value")
		if err != nil {
			return false
		}
		injected, _, err := unstructured.NestedInt64(created.Object, "spec", "injected")
		return err == nil && injected == 123
	})
}

// interrupt ends the command, as ctrl+c does: its operator ends in good order.
func (o *admission) interrupt() {
	o.t.Helper()
	if err := o.cmd.Process.Signal(syscall.SIGINT); err != nil {
		o.t.Fatal(err)
	}
	_ = o.cmd.Wait() // the exit code is checked below
	if code := o.cmd.ProcessState.ExitCode(); code != 0 {
		o.t.Errorf("the exit code is %d: %s", code, o.said())
	}
}

// expectNoWebhooks fails if webhooks are configured.
func expectNoWebhooks(t *testing.T, client dynamic.Interface) {
	t.Helper()
	for _, resource := range []schema.GroupVersionResource{validatingResource, mutatingResource} {
		left, err := client.Resource(resource).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(left.Items) != 0 {
			t.Errorf("%d %s are left, %v", len(left.Items), resource.Resource, err)
		}
	}
}
