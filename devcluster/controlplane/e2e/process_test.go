package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStart_ReadyClusterIsUsable(t *testing.T) {
	dir := t.TempDir()
	c := start(t, "--data-dir", dir, "--context", "kopf-dev")
	t.Logf("usable after %.3f s", c.Seconds)
	c.create(t, configMaps, object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: first, namespace: default}}"))
	c.create(t, pods, object(t, "{apiVersion: v1, kind: Pod, metadata: {name: first, namespace: default}, spec: {containers: [{name: main, image: none}]}}"))
	if c.Version != kubernetesVersion || c.Context != "kopf-dev" || c.Kubeconfig != filepath.Join(dir, "kubeconfig") || c.PID != c.cmd.Process.Pid {
		t.Errorf("it introduced itself with %+v", c)
	}
	file, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
	if err != nil || !strings.Contains(string(file), c.Server) {
		t.Errorf("cluster.json is %q (%v)", file, err)
	}
}

func TestStop_SignalIsQuickDespiteOpenWatch(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			dir := t.TempDir()
			c := start(t, "--data-dir", dir)
			w, err := c.client.Resource(configMaps).Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			begin := time.Now()
			if err := c.cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			if err := c.wait(t); err != nil {
				t.Errorf("it ended with %v", err)
			}
			took := time.Since(begin)
			t.Logf("stopped after %s", took)
			if took > 15*time.Second { // the open watch would delay it for a minute
				t.Errorf("it took %s to stop", took)
			}
			if locked(t, dir) {
				t.Error("the data directory is still locked")
			}
		})
	}
}

func TestGuard_ClosingStopsCluster(t *testing.T) {
	c := start(t, "--data-dir", t.TempDir())
	if err := c.guard.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.wait(t); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestGuard_KilledParentStopsCluster(t *testing.T) {
	dir := t.TempDir()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"="+dir, programEnv+"="+program)
	parent.Stderr = t.Output()
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || !strings.Contains(line, "server") {
		t.Fatalf("the parent printed %q: %v", line, err)
	}
	if !locked(t, dir) {
		t.Fatal("the cluster is not running")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	eventually(t, "the orphan has ended", func(context.Context) (bool, error) { return !locked(t, dir), nil })
}

// parentEnv makes this test binary the parent of a control plane. Its value is the data
// directory.
const (
	parentEnv  = "E2E_PARENT_OF"
	programEnv = "E2E_PROGRAM"
)

func runParent() int {
	cmd := exec.Command(os.Getenv(programEnv), "--data-dir", os.Getenv(parentEnv), "--guard")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	guard, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Run()
	}
	fmt.Fprintln(os.Stderr, "the child of", guard, "ended:", err)
	return 1
}

func TestStart_TwoClustersAreIndependent(t *testing.T) {
	a := start(t, "--data-dir", t.TempDir())
	b := start(t, "--data-dir", t.TempDir())
	if a.Server == b.Server {
		t.Fatalf("both serve at %s", a.Server)
	}
	a.create(t, configMaps, object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: default}}"))
	if done, err := b.gone(configMaps, "default", "mine")(t.Context()); !done {
		t.Errorf("one sees the objects of the other (%v)", err)
	}
}

func TestStart_DirectoryInUse(t *testing.T) {
	dir := t.TempDir()
	c := start(t, "--data-dir", dir)
	status, reason, message := startFailure(t, "--data-dir", dir)
	if status != 3 || reason != "in-use" {
		t.Errorf("status %d, reason %q", status, reason)
	}
	if !strings.Contains(message, dir) || !strings.Contains(message, strconv.Itoa(c.PID)) {
		t.Errorf("the message is %q", message)
	}
	c.create(t, configMaps, object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: unharmed, namespace: default}}"))
}

func TestStart_TakenPort(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	status, reason, message := startFailure(t, "--data-dir", t.TempDir(), "--port", port)
	if status != 4 || reason != "port-taken" || !strings.Contains(message, port) {
		t.Errorf("status %d, reason %q, message %q", status, reason, message)
	}
}

func TestStart_InvalidFlags(t *testing.T) {
	for _, args := range [][]string{{}, {"--data-dir", "x", "--port", "70000"}, {"--nonsense"}, {"--data-dir", "x", "extra"}} {
		if status, _, message := startFailure(t, args...); status != 2 || message == "" {
			t.Errorf("%q: status %d, message %q", args, status, message)
		}
	}
}

func TestEphemeral_DeletesData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "short-lived")
	c := start(t, "--data-dir", dir, "--ephemeral")
	c.stop(t)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", dir, err)
	}
}

func TestEphemeral_RejectsExistingData(t *testing.T) {
	dir := t.TempDir()
	start(t, "--data-dir", dir).stop(t)
	if status, _, message := startFailure(t, "--data-dir", dir, "--ephemeral"); status != 1 || !strings.Contains(message, "has data") {
		t.Errorf("status %d, message %q", status, message)
	}
}

func TestStart_LongPathOfDataDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	c := start(t, "--data-dir", dir)
	c.create(t, configMaps, object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: deep, namespace: default}}"))
}
