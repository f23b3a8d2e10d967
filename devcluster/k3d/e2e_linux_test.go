package k3d

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/internal/fault"
	"github.com/kopf-dev/kopf/devcluster/k3d/internal/dockertest"
)

// The tests whose names begin with TestE2E use the real library of k3d and a private Docker engine.
// Only the programs in the containers are stand-ins: see the packages of internal/dockertest.

const (
	standIn      = "kopf.test/k3s:v1.99.0-k3s1"
	crashing     = "kopf.test/k3s:crashing"
	standInStore = "kopf.test/registry:2"
)

// makeImages makes the stand-ins, and configures kopf to use them.
func makeImages(ctx context.Context, e *engine) error {
	node, err := dockertest.NodeRootfs(filepath.Join(e2eDir, "k3s"), os.Getenv("KOPF_CONTROLPLANE"), filepath.Join(e2eDir, "kopf"))
	if err != nil {
		return err
	}
	if err := node.Import(ctx, e, standIn, "/bin/k3s"); err != nil {
		return err
	}
	node["crash"], node["bin/controlplane"] = "/dev/null", "/bin/true"
	if err := node.Import(ctx, e, crashing, "/bin/k3s"); err != nil {
		return err
	}
	store := dockertest.Rootfs{"bin/registry": filepath.Join(e2eDir, "registry")}
	if err := store.Import(ctx, e, standInStore, "/bin/registry"); err != nil {
		return err
	}
	for name, value := range map[string]string{imageVariable: standIn, registryVariable: standInStore} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// world is a user's machine: the private engine, and folders without clusters.
type world struct {
	*engine
	t       *testing.T
	backend *Backend
	env     []string // environment of kopf processes
}

// newWorld skips the test without an engine. At the end of the test, nothing of its clusters may
// be left in the engine.
func newWorld(t *testing.T) *world {
	t.Helper()
	if privateEngine == nil {
		t.Skip("needs a private Docker engine: make e2e-k3d")
	}
	state, err := os.MkdirTemp("", "kopf-") // short, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	t.Setenv("XDG_STATE_HOME", state)
	backend, err := New(func(line string) {
		if os.Getenv("KOPF_E2E_LOG") != "" {
			fmt.Println("k3d:", line)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	devcluster.Use(backend)
	e, err := connect(t.Context(), engineTimeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return &world{engine: e, t: t, backend: backend}
}

// expectNothingLeft fails if the engine has a container, a network or a volume that was not there
// before any test.
func (w *world) expectNothingLeft() {
	w.t.Helper()
	containers, err := w.ContainerList(context.Background(), container.ListOptions{All: true})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range containers {
		w.t.Errorf("the container %s is left (%s)", c.Names, c.State)
	}
	networks, err := w.NetworkList(context.Background(), network.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, n := range networks {
		if n.Name != "bridge" && n.Name != "host" && n.Name != "none" {
			w.t.Errorf("the network %s is left", n.Name)
		}
	}
	volumes, err := w.VolumeList(context.Background(), volume.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, v := range volumes.Volumes {
		w.t.Errorf("the volume %s is left", v.Name)
	}
	if files, _ := filepath.Glob(filepath.Join(os.TempDir(), "k3d-hostsfile-*")); len(files) > 0 {
		w.t.Errorf("temporary files of k3d are left: %s", files)
	}
}

// kopf runs the command kopf.
func (w *world) kopf(args ...string) (stdout, stderr string, err error) {
	cmd := w.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.t.Context(), filepath.Join(e2eDir, "kopf"), args...)
	cmd.Dir = "../.." // the root of the repository
	cmd.Env = append(os.Environ(), w.env...)
	return cmd
}

// must runs the command kopf, which must succeed, and returns its standard output.
func (w *world) must(args ...string) string {
	w.t.Helper()
	stdout, stderr, err := w.kopf(args...)
	if err != nil {
		w.t.Fatalf("kopf %s: %v\n%s%s", strings.Join(args, " "), err, stdout, stderr)
	}
	return stdout
}

// list returns the clusters as kopf cluster list shows them.
func (w *world) list() []devcluster.Info {
	w.t.Helper()
	var infos []devcluster.Info
	if err := json.Unmarshal([]byte(w.must("cluster", "list", "-o", "json")), &infos); err != nil {
		w.t.Fatal(err)
	}
	return infos
}

// expectState fails unless kopf cluster list shows only this cluster, in this state.
func (w *world) expectState(name string, state devcluster.State) devcluster.Info {
	w.t.Helper()
	infos := w.list()
	if len(infos) != 1 || infos[0].Name != name || infos[0].State != state || infos[0].Provider != devcluster.K3d {
		w.t.Fatalf("the clusters are %+v, want %s %s", infos, name, state)
	}
	return infos[0]
}

func TestE2E_LifeOfACluster(t *testing.T) {
	w := newWorld(t)
	defer w.expectNothingLeft()

	began := time.Now()
	stdout, stderr, err := w.kopf("cluster", "create", "lab", "--registry", "-v")
	if err != nil || !strings.Contains(stdout, "cluster lab created: Kubernetes v1.") || !strings.Contains(stdout, "https://127.0.0.1:") {
		t.Fatalf("create: %v\n%s%s", err, stdout, stderr)
	}
	t.Logf("created in %s", time.Since(began))
	for _, want := range []string{"creating the cluster lab in containers", "starting K3s in the cluster lab", "k3d: info: Creating node 'k3d-kopf-lab-server-0'", "pods pull them from k3d-kopf-lab-registry:5000"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is not in:\n%s", want, stderr)
		}
	}
	defer func() {
		if _, stderr, err := w.kopf("cluster", "delete", "lab"); err != nil {
			t.Errorf("delete: %v\n%s", err, stderr)
		}
		if infos := w.list(); len(infos) != 0 {
			t.Errorf("after the deletion, the clusters are %+v", infos)
		}
	}()

	info := w.expectState("lab", devcluster.Running)
	w.expectPrivate(info)
	w.expectLoopback()
	w.expectHandled("1 handler succeeded")
	hook := w.newWebhook(info)
	hook.expectDenied("before")
	w.expectImports(info)
	w.expectRegistry(info)

	began = time.Now()
	w.must("cluster", "stop", "lab")
	t.Logf("stopped in %s", time.Since(began))
	w.expectState("lab", devcluster.Stopped)
	if _, _, err := w.kopf("cluster", "import", standInStore, "--cluster=lab"); err == nil {
		t.Error("a stopped cluster takes images")
	}
	began = time.Now()
	if out := w.must("cluster", "start", "lab"); !strings.Contains(out, "cluster lab started") {
		t.Errorf("start prints %q", out)
	}
	t.Logf("started in %s", time.Since(began))
	w.expectState("lab", devcluster.Running)
	hook.expectDenied("after-stop")

	w.breakHostAlias()
	w.must("cluster", "start", "lab")
	hook.expectDenied("after-repair")

	if err := privateEngine.Stop(); err != nil {
		t.Fatal(err)
	}
	w.expectState("lab", devcluster.Unreachable)
	if _, stderr, err := w.kopf("cluster", "start", "lab"); err == nil || !strings.Contains(stderr, "no Docker engine answers at unix://") {
		t.Errorf("start without an engine: %v, %s", err, stderr)
	}
	if err := privateEngine.Start(); err != nil {
		t.Fatal(err)
	}
	hook.expectDenied("after-restart")
	w.expectState("lab", devcluster.Running)
	w.expectHandled("1 with nothing to do") // the object of before is still there
}

func TestE2E_DevUsesClusterOfProject(t *testing.T) {
	w := newWorld(t)
	defer w.expectNothingLeft()
	const example = "./examples/01-minimal"
	run := func(command string) string {
		t.Helper()
		stdout, stderr, err := w.kopf(command, example, "-A", "--apply", example, "--until=settled", "--timeout=1m")
		if err != nil {
			t.Fatalf("kopf %s: %v\n%s%s", command, err, stdout, stderr)
		}
		return stdout + stderr
	}
	out := run("dev")
	for _, want := range []string{"creating the cluster", "no cluster was running, and a Docker engine answers", "it keeps running afterwards"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	infos := w.list()
	if len(infos) != 1 || infos[0].State != devcluster.Running || infos[0].Provider != devcluster.K3d || infos[0].Project == "" {
		t.Errorf("the clusters are %+v", infos)
	}
	if out := run("run"); !strings.Contains(out, "cluster: k3d "+infos[0].Name) || !strings.Contains(out, "already running") {
		t.Errorf("the second command prints:\n%s", out)
	}
	w.must("cluster", "delete")
}

// expectPrivate fails if others can read the kubeconfig, or if it is not of this cluster.
func (w *world) expectPrivate(info devcluster.Info) {
	w.t.Helper()
	file, err := os.Stat(info.Kubeconfig)
	if err != nil || file.Mode().Perm() != 0o600 {
		w.t.Errorf("the kubeconfig has the mode %v, %v", file.Mode(), err)
	}
	if dir, err := os.Stat(filepath.Dir(info.Kubeconfig)); err != nil || dir.Mode().Perm() != 0o700 {
		w.t.Errorf("its folder has the mode %v, %v", dir.Mode(), err)
	}
	config, err := clientcmd.LoadFromFile(info.Kubeconfig)
	if err != nil || config.CurrentContext != "k3d-kopf-lab" || config.Clusters["k3d-kopf-lab"].Server != info.Server {
		w.t.Errorf("the kubeconfig is %+v, %v", config, err)
	}
}

// expectLoopback fails if a port is published on another address than 127.0.0.1.
func (w *world) expectLoopback() {
	w.t.Helper()
	containers, err := w.ContainerList(w.t.Context(), container.ListOptions{})
	if err != nil || len(containers) != 2 {
		w.t.Fatalf("the containers are %v, %v; want the node and the registry", containers, err)
	}
	for _, c := range containers {
		for _, p := range c.Ports {
			if p.PublicPort != 0 && p.IP != "127.0.0.1" {
				w.t.Errorf("%s publishes %+v", c.Names, p)
			}
		}
	}
}

// expectHandled fails unless an operator runs with the cluster and prints this outcome for its
// objects.
func (w *world) expectHandled(outcome string) {
	w.t.Helper()
	const example = "./examples/01-minimal"
	stdout, stderr, err := w.kopf("run", example, "--cluster=lab", "-A", "--apply", example, "--until=settled", "--timeout=1m")
	if err != nil || !strings.Contains(stderr, outcome) || !strings.Contains(stderr, "cluster: k3d lab") {
		w.t.Errorf("kopf run: %v\n%s%s", err, stdout, stderr)
	}
}

// expectImports fails unless images get into the node, and missing ones are reported.
func (w *world) expectImports(info devcluster.Info) {
	w.t.Helper()
	if out := w.must("cluster", "import", standInStore, "--cluster=lab"); !strings.Contains(out, "imported into lab: "+standInStore) {
		w.t.Errorf("import prints %q", out)
	}
	imported, err := w.exec(w.t.Context(), serverName(info.Name), nil, "cat", "/var/log/imported")
	if err != nil || !strings.Contains(imported, "manifest.json") {
		w.t.Errorf("the node has got %q, %v", imported, err)
	}
	broken := filepath.Join(w.t.TempDir(), "broken.tar")
	if err := os.WriteFile(broken, []byte(strings.Repeat("no archive ", 1000)), 0o600); err != nil {
		w.t.Fatal(err)
	}
	err = devcluster.ImportImages(w.t.Context(), "lab", []string{broken}, devcluster.Options{})
	if err == nil || !strings.Contains(err.Error(), "unrecognized image format") {
		w.t.Errorf("a broken archive: %v", err)
	}
	err = devcluster.ImportImages(w.t.Context(), "lab", []string{"no/such:image"}, devcluster.Options{})
	if !errors.Is(err, fault.ErrImage) || !strings.Contains(err.Error(), "no/such:image") {
		w.t.Errorf("a missing image: %v", err)
	}
}

// expectRegistry fails unless the cluster knows its registry, and images can be pushed to it.
func (w *world) expectRegistry(info devcluster.Info) {
	w.t.Helper()
	config, err := w.exec(w.t.Context(), serverName(info.Name), nil, "cat", "/etc/rancher/k3s/registries.yaml")
	if err != nil || !strings.Contains(config, info.RegistryHost) {
		w.t.Errorf("registries.yaml of the node is %q, %v", config, err)
	}
	w.push(standInStore, info.Registry+"/pushed:dev")
}

// push pushes an image of the engine with another name.
func (w *world) push(from, to string) {
	w.t.Helper()
	if err := w.ImageTag(w.t.Context(), from, to); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if _, err := w.ImageRemove(context.Background(), to, image.RemoveOptions{}); err != nil {
			w.t.Log(err)
		}
	})
	stream, err := w.ImagePush(w.t.Context(), to, image.PushOptions{RegistryAuth: "e30="}) // {}
	if err != nil {
		w.t.Fatal(err)
	}
	defer stream.Close()
	if err := pullProgress(stream, func(int, int) {}); err != nil {
		w.t.Errorf("push %s: %v", to, err)
	}
}

// breakHostAlias removes the alias of this machine from the node, as a restart of the engine does
// with the entries that k3d writes.
func (w *world) breakHostAlias() {
	w.t.Helper()
	if _, err := w.exec(w.t.Context(), serverName("lab"), nil, "sh", "-c", "grep -v host.k3d.internal /etc/hosts > /tmp/hosts; cat /tmp/hosts > /etc/hosts"); err != nil {
		w.t.Fatal(err)
	}
}
