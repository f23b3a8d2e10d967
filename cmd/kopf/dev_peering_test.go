package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// marking is an operator that writes its version into a config map whenever it starts.
const marking = `package op

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

const version = "%d"

func Register(r *kopf.Registry) {
	kopf.OnResume(r, kopf.Resource("v1", "configmaps"), mark, kopf.Labels{"marked": kopf.Present})
	kopf.OnCreate(r, kopf.Resource("v1", "configmaps"), mark, kopf.Labels{"marked": kopf.Present})
}

func mark(_ context.Context, c *kopf.Change[kopf.Object]) error {
	c.Patch.Set(kopf.PathOf("data", "version"), version)
	return nil
}
`

// devSession is kopf dev beside a deployed operator.
type devSession struct {
	t       *testing.T
	cluster *kopftest.Cluster
	marked  *kopftest.Object
	dir     string
	env     []string
	save    func(version int)

	cmd  *exec.Cmd
	said func() string
}

func (d *devSession) start() {
	d.t.Helper()
	d.cmd, _, _ = command(d.t, d.dir, "dev", ".", "-n", d.cluster.Namespace, "--kubeconfig="+d.cluster.Kubeconfig())
	d.cmd.Env = append(append(os.Environ(), asCommand+"=1"), d.env...)
	out, said := outputFile(d.t)
	d.cmd.Stdout, d.cmd.Stderr, d.said = out, out, said
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
}

// waitVersion waits until a version of the code runs, which takes a build.
func (d *devSession) waitVersion(version int) {
	d.t.Helper()
	eventuallyWithin(d.t, 5*time.Minute, fmt.Sprintf("running version %d", version), func() bool {
		return kopf.GetOr(d.marked.Get(), "data.version", "") == strconv.Itoa(version)
	})
}

// kill ends kopf dev and its operator by kill -9, so that neither can leave the peering.
func (d *devSession) kill() {
	d.t.Helper()
	operator := childOf(d.t, d.cmd.Process.Pid, "--namespace="+d.cluster.Namespace)
	// The operator would notice that kopf dev is gone, and leave in order.
	if err := syscall.Kill(operator, syscall.SIGSTOP); err != nil {
		d.t.Fatal(err)
	}
	if err := d.cmd.Process.Kill(); err != nil {
		d.t.Fatal(err)
	}
	_ = d.cmd.Wait() // it was killed
	if err := syscall.Kill(operator, syscall.SIGKILL); err != nil {
		d.t.Fatal(err)
	}
}

// childOf returns the process ID of the child of a process that has an argument. Others may be go commands.
func childOf(t *testing.T, parent int, argument string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has just exited
		}
		_, rest, _ := bytes.Cut(text, []byte(") "))
		if fields := strings.Fields(string(rest)); len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			line, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			if err != nil || !bytes.Contains(line, []byte(argument+"\x00")) {
				continue
			}
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				t.Fatal(err)
			}
			return child
		}
	}
	t.Fatalf("process %d has no child with %s", parent, argument)
	return 0
}

// pauser returns the identity of the only other operator in the peering; empty if there is none.
func pauser(object *kopftest.Object) string {
	peers, _ := object.Get().Get("status").(map[string]any)
	for identity := range peers {
		if identity != "deployed" {
			return identity
		}
	}
	return ""
}

func TestDev_PausesDeployedOperatorAndLetsItGo(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finding the operator of kopf dev needs /proc; run this test on Linux")
	}
	const objects = 100
	cluster := peeringCluster(t)
	object := createPeering(cluster, "default")
	op := deploy(cluster, "deployed")
	all := make([]*kopftest.Object, objects)
	for i := range all {
		all[i] = cluster.Create(kopfExample(fmt.Sprintf("kex%d", i), "0"))
	}
	waitHandled := func(total int) {
		t.Helper()
		cluster.WaitUntil(fmt.Sprintf("%d changes are handled", total), func() bool { return len(op.all()) >= total })
	}
	change := func(field string) {
		t.Helper()
		for _, o := range all {
			o.Patch(map[string]any{"spec": map[string]any{"field": field}})
		}
	}
	waitHandled(objects)

	dev := &devSession{t: t, cluster: cluster, marked: cluster.Create(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "marked", "labels": map[string]any{"marked": "yes"}},
	})}
	dev.dir, dev.env, dev.save = sdkTree(t, marking)
	dev.start()
	dev.waitVersion(0)
	op.waitState(inspect.OperatorPaused)
	expect(t, dev.said(), "deployed (priority 0)")
	change("1")
	for version := 1; version <= 2; version++ {
		dev.save(version)
		dev.waitVersion(version)
	}
	if s := op.Inspect().Operator; s.State != inspect.OperatorPaused || resumed(op) != 0 || len(op.all()) != objects {
		t.Errorf("during the reloads, the deployed operator did not stay paused: %s, resumed %d times, %d calls", s.State, resumed(op), len(op.all()))
	}

	dev.kill()
	if pauser(object) == "" {
		t.Error("the killed session has left the peering")
	}
	op.waitState(inspect.OperatorRunning) // since the record has expired
	waitHandled(2 * objects)

	dev.save(3)
	dev.start()
	dev.waitVersion(3)
	op.waitState(inspect.OperatorPaused)
	change("2")
	stop(t, dev.cmd, dev.said)
	if left := pauser(object); left != "" {
		t.Errorf("the session has ended, and its record %s is there: %s", left, dev.said())
	}
	op.waitState(inspect.OperatorRunning)
	waitHandled(3 * objects)
	op.Stop()
	counts := map[string]int{}
	for _, what := range op.all() {
		counts[what]++
	}
	for i := range objects {
		for field := range 3 {
			if what := fmt.Sprintf("kex%d=%d", i, field); counts[what] != 1 {
				t.Errorf("%s is handled %d times", what, counts[what])
			}
		}
	}
}

// resumed returns how many times an operator has resumed after a pause.
func resumed(op *deployed) int {
	n := 0
	for _, entry := range op.LogEntries() {
		if strings.HasPrefix(entry.Message, "Resuming operations") {
			n++
		}
	}
	return n
}
