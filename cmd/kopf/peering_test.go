package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
	"github.com/kopf-dev/kopf/sdk/peering"
)

// peeringCluster returns a cluster with the resources of peering.
func peeringCluster(t *testing.T) *kopftest.Cluster {
	t.Helper()
	program, err := devcluster.Prepare(t.Context(), devcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KOPF_CONTROLPLANE", program)
	cluster := kopftest.New(t)
	cluster.ApplyFile("../../examples/crd.yaml", "../../examples/06-peering/peering.yaml")
	return cluster
}

func createPeering(cluster *kopftest.Cluster, name string) *kopftest.Object {
	cluster.T().Helper()
	return cluster.Create(map[string]any{"apiVersion": "kopf.dev/v1", "kind": "KopfPeering", "metadata": map[string]any{"name": name}})
}

// deployed is an operator that takes part in the peering.
type deployed struct {
	*kopftest.Operator

	mu      sync.Mutex
	handled []string
}

func deploy(cluster *kopftest.Cluster, identity string) *deployed {
	d := &deployed{}
	d.Operator = cluster.Run(func(r *kopf.Registry) {
		handle := func(ctx context.Context, c *kopf.Change[kopf.Object]) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.handled = append(d.handled, fmt.Sprintf("%s=%v", c.Name, c.Object.Get("spec.field")))
			return nil
		}
		kopf.OnCreate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), handle, kopf.ID("handle"))
		kopf.OnUpdate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), handle, kopf.ID("handle"))
	}, func(o *kopf.Operator) { o.Identity, o.Settings.Peering.Lifetime = identity, 8*time.Second })
	return d
}

func (d *deployed) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.handled)
}

func (d *deployed) waitState(state inspect.OperatorState) *inspect.Snapshot {
	d.T().Helper()
	return d.WaitInspect(fmt.Sprintf("it is %s", state), func(s *inspect.Snapshot) bool { return s.Operator.State == state })
}

func kopfExample(name, field string) map[string]any {
	return map[string]any{
		"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": map[string]any{"name": name}, "spec": map[string]any{"field": field},
	}
}

// kopfCommand runs a command for the namespace of a test.
func kopfCommand(t *testing.T, cluster *kopftest.Cluster, want int, words ...string) string {
	t.Helper()
	var out bytes.Buffer
	args := append(words, "-n", cluster.Namespace, "--kubeconfig="+cluster.Kubeconfig())
	if got := execute(t.Context(), args, &out, &out); got != want {
		t.Fatalf("kopf %s: %d: %s", strings.Join(words, " "), got, &out)
	}
	return out.String()
}

func expect(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing: %s", part, text)
		}
	}
}

func TestFreeze_OperatorsPauseUntilResume(t *testing.T) {
	cluster := peeringCluster(t)
	t.Setenv("POD_ID", "")
	t.Setenv("LOGNAME", "alice")
	out := kopfCommand(t, cluster, exitFailure, "freeze", "--lifetime=60")
	expect(t, out, "no peering object", "there is no KopfPeering default in "+cluster.Namespace)
	object := createPeering(cluster, "default")
	op := deploy(cluster, "deployed")
	kex := cluster.Create(kopfExample("kex", "0"))
	cluster.WaitUntil("it is handled", func() bool { return slices.Equal(op.all(), []string{"kex=0"}) })

	out = kopfCommand(t, cluster, 0, "freeze", "--lifetime=3600", "-m", "an incident")
	expect(t, out, "KopfPeering default in "+cluster.Namespace+" is frozen by alice@", "paused: deployed (priority 0)", "kopf resume -n "+cluster.Namespace+" ends it earlier")
	snapshot := op.waitState(inspect.OperatorPaused)
	if why := snapshot.Operator.Reason; !strings.HasPrefix(why, "by alice@") || !strings.Contains(why, "priority 100: an incident") {
		t.Errorf("paused %s", why)
	}
	kex.Patch(map[string]any{"spec": map[string]any{"field": "1"}})
	object.WaitFor("the operator tells that it is paused", func(o *kopf.Object) bool { return o.Get("status.deployed.paused.by") != nil })
	expect(t, kopfCommand(t, cluster, 0, "peers"), "alice@", "active", "an incident", "deployed", "paused by alice@")
	var peerings []inspect.Peering
	if err := json.Unmarshal([]byte(kopfCommand(t, cluster, 0, "peers", "-o", "json")), &peerings); err != nil {
		t.Fatal(err)
	}
	if len(peerings) != 1 || len(peerings[0].Peers) != 2 || peerings[0].Peers[1].State != inspect.PeerPaused || len(peerings[0].Peers[1].PausedBy) != 1 {
		t.Errorf("%+v", peerings)
	}
	expect(t, kopfCommand(t, cluster, exitFailure, "resume", "--id=bob"), "kopf: resume: nothing has ended: KopfPeering default in "+cluster.Namespace+" was not frozen by bob; name one of these with --id: alice@")

	expect(t, kopfCommand(t, cluster, 0, "resume"), "is no longer frozen by alice@")
	op.waitState(inspect.OperatorRunning)
	cluster.WaitUntil("it is handled once", func() bool { return slices.Equal(op.all(), []string{"kex=0", "kex=1"}) })

	// The record expires on its own.
	kopfCommand(t, cluster, 0, "freeze", "--lifetime=3", "--priority=5")
	op.waitState(inspect.OperatorPaused)
	op.waitState(inspect.OperatorRunning)
	object.WaitFor("the record is removed", func(o *kopf.Object) bool { peers, _ := o.Get("status").(map[string]any); return len(peers) == 1 })
	expect(t, kopfCommand(t, cluster, 0, "peers"), "deployed", "active")
}

func TestFreeze_WhileHandling(t *testing.T) {
	cluster := peeringCluster(t)
	createPeering(cluster, "default")
	op := deploy(cluster, "deployed")
	const objects, changes = 10, 12
	names := make([]*kopftest.Object, objects)
	for i := range names {
		names[i] = cluster.Create(kopfExample(fmt.Sprintf("kex%d", i), "0"))
	}
	for n := 1; n <= changes; n++ {
		for _, o := range names {
			o.Patch(map[string]any{"spec": map[string]any{"field": fmt.Sprint(n)}})
		}
		switch n % 4 {
		case 1:
			kopfCommand(t, cluster, 0, "freeze", "--lifetime=600", "--id=me") // handlers are running, or about to
		case 3:
			op.waitState(inspect.OperatorPaused)
			kopfCommand(t, cluster, 0, "resume", "--id=me")
		}
	}
	op.waitState(inspect.OperatorRunning)
	cluster.WaitUntil("the last changes are handled", func() bool {
		all := op.all()
		for _, o := range names {
			if !slices.Contains(all, fmt.Sprintf("%s=%d", o.Name, changes)) {
				return false
			}
		}
		return true
	})
	op.Stop()
	counts := map[string]int{}
	for _, what := range op.all() {
		if counts[what]++; counts[what] > 1 {
			t.Errorf("%s is handled %d times", what, counts[what])
		}
	}
}

func TestFreeze_StaysUntilInterrupted(t *testing.T) {
	cluster := peeringCluster(t)
	createPeering(cluster, "default")
	op := deploy(cluster, "deployed")
	freeze := func() (*exec.Cmd, func() string) {
		cmd, _, _ := command(t, t.TempDir(), "freeze", "-n", cluster.Namespace, "--kubeconfig="+cluster.Kubeconfig(), "--id=me")
		out, said := outputFile(t)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		op.waitState(inspect.OperatorPaused)
		eventually(t, "frozen", func() bool { return strings.Contains(said(), "ctrl+c here") }) // the operator may be faster
		return cmd, said
	}
	cmd, said := freeze()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := code(t, cmd.Wait()); got != 0 {
		t.Errorf("%d, %s", got, said())
	}
	expect(t, said(), "until kopf resume -n "+cluster.Namespace+" --id=me, or ctrl+c here", "resumed\n")
	op.waitState(inspect.OperatorRunning)

	cmd, said = freeze()
	kopfCommand(t, cluster, 0, "resume", "--id=me")
	if got := code(t, cmd.Wait()); got != 0 {
		t.Errorf("%d, %s", got, said())
	}
	expect(t, said(), "resumed by another command")
	op.waitState(inspect.OperatorRunning)
}

func TestDevOperator_OthersResumeAfterItIsKilled(t *testing.T) {
	cluster := peeringCluster(t)
	createPeering(cluster, "default")
	op := deploy(cluster, "deployed")
	kex := cluster.Create(kopfExample("kex", "0"))
	cluster.WaitUntil("it is handled", func() bool { return slices.Equal(op.all(), []string{"kex=0"}) })
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	cmd, _, _ := command(t, t.TempDir(), "--dev", "--identity=dev", "--namespace="+cluster.Namespace, "--kubeconfig="+cluster.Kubeconfig())
	cmd.Stderr, cmd.Env = output, append(os.Environ(), asOperator+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	op.WaitLog("Pausing operations in favour of dev (priority 666)")
	op.waitState(inspect.OperatorPaused)
	cluster.WaitUntil("it says whom it paused", func() bool {
		text, err := os.ReadFile(output.Name())
		return err == nil && strings.Contains(string(text), "Operators with a lower priority are paused by this one: deployed (priority 0)")
	})
	kex.Patch(map[string]any{"spec": map[string]any{"field": "1"}})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	killed := time.Now()
	op.waitState(inspect.OperatorRunning)
	if took := time.Since(killed); took > time.Minute {
		t.Errorf("the deployed operator resumed after %s", took)
	}
	cluster.WaitUntil("it is handled once", func() bool { return slices.Equal(op.all(), []string{"kex=0", "kex=1"}) })
}

func TestDevOperator_RecordStaysForNextProcess(t *testing.T) {
	cluster := peeringCluster(t)
	record := createPeering(cluster, "default")
	start := func() (*exec.Cmd, io.Closer) {
		cmd, out, _ := command(t, t.TempDir(), "--dev", "--identity=dev", "--namespace="+cluster.Namespace, "--kubeconfig="+cluster.Kubeconfig())
		cmd.Stderr, cmd.Env = out, append(os.Environ(), asOperator+"=1", handOverVariable+"=1", "KOPF_STDIN_GUARD=1")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		record.WaitFor("the operator is there", func(o *kopf.Object) bool { return o.Get("status.dev.priority") != nil })
		return cmd, stdin
	}
	cmd, _ := start()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := code(t, cmd.Wait()); got != 0 {
		t.Errorf("%d, %s", got, cmd.Stderr)
	}
	if record.Get().Get("status.dev") == nil {
		t.Error("the record is removed, though the next process is to take over")
	}

	// When kopf dev was killed, no other process follows.
	record.Patch(map[string]any{"status": map[string]any{"dev": nil}})
	cmd, stdin := start()
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if got := code(t, cmd.Wait()); got != 0 {
		t.Errorf("%d, %s", got, cmd.Stderr)
	}
	if record.Get().Get("status.dev") != nil {
		t.Error("the record stays, though no process takes over")
	}

	// When kopf dev ends, it removes its remaining records, whatever the name of the object.
	other := createPeering(cluster, "other")
	for _, o := range []*kopftest.Object{record, other} {
		o.Patch(map[string]any{"status": map[string]any{"dev": map[string]any{"priority": 666}, "deployed": map[string]any{"priority": 0}}})
	}
	client, err := peering.NewClient(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := leaveAll(t.Context(), client, &operatorFlags{identity: "dev"}); err != nil {
		t.Fatal(err)
	}
	for _, o := range []*kopftest.Object{record, other} {
		if now := o.Get(); now.Get("status.dev") != nil || now.Get("status.deployed") == nil {
			t.Errorf("%s: %v", o.Name, now.Get("status"))
		}
	}
}

func TestPeeringFlags_MistakesAreUsageErrors(t *testing.T) {
	for line, want := range map[string]string{
		"freeze --lifetime=0":            "want seconds, or a duration such as 10m, of at least a second",
		"freeze --lifetime=soon":         "want seconds, or a duration such as 10m, of at least a second",
		"freeze x":                       "unknown command",
		"resume -A -n x":                 "--all-namespaces excludes --namespace",
		"peers -o yaml":                  "--output=yaml: the only value is json",
		"peers -n ":                      "flag needs an argument",
		"run . --standalone --peering=x": "--standalone excludes --peering",
	} {
		var out bytes.Buffer
		if got := execute(t.Context(), strings.Fields(line), &out, &out); got != exitUsage || !strings.Contains(out.String(), want) {
			t.Errorf("kopf %s: %d, %s", line, got, &out)
		}
	}
}

func TestFreeze_NamesWhatIsMissing(t *testing.T) {
	cluster := peeringCluster(t)
	const create = "kopf manifests peering --only=objects"
	out := kopfCommand(t, cluster, exitFailure, "freeze", "--lifetime=60", "--peering=example")
	expect(t, out, "there is no KopfPeering example in "+cluster.Namespace, create+" -n "+cluster.Namespace+" --name=example | kubectl apply -f -")

	object := createPeering(cluster, "example")
	client, err := peering.NewClient(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	found, err := client.Find(t.Context(), peering.Scope{Name: "example", Namespaces: []string{cluster.Namespace}})
	if err != nil {
		t.Fatal(err)
	}
	object.Delete()
	object.WaitGone()
	err = client.Write(t.Context(), found[0], &peering.Peer{Identity: "me", Lifetime: time.Minute})
	if !errors.Is(err, peering.ErrNotFound) || !strings.Contains(err.Error(), "there is no KopfPeering example in "+cluster.Namespace+"; create it: "+create) {
		t.Errorf("the object was deleted: %v", err)
	}
}
