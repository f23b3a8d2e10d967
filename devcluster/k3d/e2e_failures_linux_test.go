package k3d

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/internal/fault"
	"github.com/kopf-dev/kopf/devcluster/k3d/internal/dockertest"
)

// create creates a cluster of k3d in this process.
func (w *world) create(ctx context.Context, name string) (devcluster.Info, error) {
	return devcluster.Create(ctx, devcluster.Options{Provider: devcluster.K3d, Name: name})
}

// expectError fails unless the error is of the kind, contains the words, and has a next step.
func expectError(t *testing.T, err, kind error, says ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("the error is %v, want %v", err, kind)
		return
	}
	for _, want := range append(says, "; ") {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in the error %v", want, err)
		}
	}
}

func TestE2EFailure_NoPermission(t *testing.T) {
	w := newWorld(t)
	cmd := w.command("cluster", "create", "--provider=k3d")
	cmd.Dir = os.TempDir()
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME=/tmp/nobody-state", "DOCKER_CONFIG=/tmp/nobody-docker")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	for _, dir := range []string{e2eDir, filepath.Dir(privateEngine.Socket())} {
		if err := os.Chmod(dir, 0o755); err != nil { // others may look for the program and the socket
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.RemoveAll("/tmp/nobody-state") })
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no permission to use the Docker engine at unix://") || !strings.Contains(string(out), "group docker") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestE2EFailure_EngineHangs(t *testing.T) {
	w := newWorld(t)
	if err := privateEngine.Freeze(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err := w.backend.Probe(t.Context())
	took := time.Since(began)
	if resume := privateEngine.Thaw(); resume != nil {
		t.Fatal(resume)
	}
	expectError(t, err, fault.ErrNoEngine, "does not answer within 1.5s")
	if took > 20*probeTimeout { // nothing else would end it
		t.Errorf("the check takes %s", took)
	}
	w.eventually("the engine answers in time again", func() bool {
		began = time.Now()
		return w.backend.Probe(t.Context()) == nil
	})
	t.Logf("the check of an engine that runs takes %s", time.Since(began))
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	began = time.Now()
	expectError(t, w.backend.Probe(t.Context()), fault.ErrNoEngine)
	t.Logf("the check without an engine takes %s", time.Since(began))
}

func TestE2EFailure_NameTakenByForeignContainer(t *testing.T) {
	w := newWorld(t)
	defer w.expectNothingLeft()
	foreign, err := w.ContainerCreate(t.Context(), &container.Config{Image: standIn, Entrypoint: []string{"sleep", "1000"}}, nil, nil, nil, serverName("lab"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.ContainerRemove(context.Background(), foreign.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
			t.Errorf("the foreign container has gone: %v", err)
		}
	}()
	_, err = w.create(t.Context(), "lab")
	expectError(t, err, devcluster.ErrExists, serverName("lab"), "has not created")
	if infos := w.list(); len(infos) != 0 {
		t.Errorf("the clusters are %+v", infos)
	}
}

func TestE2EFailure_ClusterWithoutRecord(t *testing.T) {
	w := newWorld(t)
	defer w.expectNothingLeft()
	if _, err := w.create(t.Context(), "lab"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // another user of the same engine
	other, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = other.Create(t.Context(), "lab", "", devcluster.Options{})
	expectError(t, err, devcluster.ErrExists, "kopf-lab", "no record")
	if err := w.backend.Delete(t.Context(), "lab"); err != nil {
		t.Error(err)
	}
}

func TestE2EFailure_PortTaken(t *testing.T) {
	w := newWorld(t)
	defer w.expectNothingLeft()
	info, err := w.create(t.Context(), "lab")
	if err != nil {
		t.Fatal(err)
	}
	defer w.must("cluster", "delete", "lab")
	w.must("cluster", "stop", "lab")
	server, err := url.Parse(info.Server)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", server.Host)
	if err != nil {
		t.Fatal(err)
	}
	_, err = devcluster.Start(t.Context(), "lab", devcluster.Options{})
	expectError(t, err, fault.ErrPortTaken, server.Host, "end that program")
	l.Close()
	if _, err := devcluster.Start(t.Context(), "lab", devcluster.Options{}); err != nil {
		t.Errorf("when the port is free again: %v", err)
	}
	w.expectState("lab", devcluster.Running)
}

func TestE2EFailure_DiskFull(t *testing.T) {
	w := newWorld(t)
	defer w.expectNothingLeft()
	filler := filepath.Join(privateEngine.DataDir(), "filler")
	var disk syscall.Statfs_t
	if err := syscall.Statfs(privateEngine.DataDir(), &disk); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	free := int64(disk.Bavail)*disk.Bsize - 32<<10
	if err := errors.Join(syscall.Fallocate(int(file.Fd()), 0, 0, free), file.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = w.create(t.Context(), "lab")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	expectError(t, err, devcluster.ErrDiskFull, "docker system prune")
	if infos := w.list(); len(infos) != 0 {
		t.Errorf("the clusters are %+v", infos)
	}
}

func TestE2EFailure_ImageMissing(t *testing.T) {
	w := newWorld(t)
	defer w.expectNothingLeft()
	t.Setenv(imageVariable, "127.0.0.1:1/no/k3s:v1")
	_, err := w.create(t.Context(), "lab")
	expectError(t, err, fault.ErrImage, "127.0.0.1:1/no/k3s:v1", imageVariable)
}

func TestE2EFailure_K3sCrashes(t *testing.T) {
	w := newWorld(t)
	defer w.expectNothingLeft()
	t.Setenv(imageVariable, crashing)
	_, err := w.create(t.Context(), "lab")
	expectError(t, err, fault.ErrStart, "create the cluster lab", "this image always fails")
}

// started waits until the node of a cluster exists.
func (w *world) started(name string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		node, err := w.node(ctx, name)
		if err != nil {
			w.t.Fatal(err)
		}
		if node != nil {
			return
		}
		select {
		case <-ctx.Done():
			w.t.Fatal("the node does not appear")
		case <-tick.C:
		}
	}
}

func TestE2EFailure_KilledMidwayIsSwept(t *testing.T) {
	w := newWorld(t)
	defer w.expectNothingLeft()
	cmd := w.command("cluster", "create", "lab", "--provider=k3d")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.started("lab")
	if infos := w.list(); len(infos) != 1 || infos[0].State != devcluster.Starting {
		t.Errorf("meanwhile, the clusters are %+v", infos)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	// Where the engine is in a virtual machine, it may have been killed while it asked for the address.
	probe := &container.Config{Image: standIn, Entrypoint: []string{"true"}, Labels: map[string]string{probeLabel: networkName("lab")}}
	if _, err := w.ContainerCreate(t.Context(), probe, nil, nil, nil, ""); err != nil {
		t.Fatal(err)
	}
	if infos := w.list(); len(infos) != 0 {
		t.Errorf("after the kill, the clusters are %+v", infos)
	}
	if _, err := w.create(t.Context(), "lab"); err != nil {
		t.Errorf("it cannot be created again: %v", err)
	}
	w.must("cluster", "delete", "lab")
}

func TestE2EFailure_InterruptedIsRolledBack(t *testing.T) {
	w := newWorld(t)
	defer w.expectNothingLeft()
	cmd := w.command("cluster", "create", "lab", "--provider=k3d")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.started("lab")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("the exit code is %d", code)
	}
}

func TestE2EFailure_EngineStopsMidway(t *testing.T) {
	w := newWorld(t)
	defer w.expectNothingLeft()
	failed := make(chan error, 1)
	go func() {
		_, err := w.create(t.Context(), "lab")
		failed <- err
	}()
	w.started("lab")
	if err := privateEngine.Stop(); err != nil {
		t.Fatal(err)
	}
	expectError(t, <-failed, fault.ErrNoEngine, "has stopped meanwhile")
	if err := privateEngine.Start(); err != nil {
		t.Fatal(err)
	}
	if infos := w.list(); len(infos) != 0 {
		t.Errorf("the clusters are %+v", infos)
	}
	if err := w.backend.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestE2EFailure_DeletedByOthersIsForgotten(t *testing.T) {
	w := newWorld(t)
	defer w.expectNothingLeft()
	if _, err := w.create(t.Context(), "lab"); err != nil {
		t.Fatal(err)
	}
	if err := w.ContainerRemove(t.Context(), serverName("lab"), container.RemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
		t.Fatal(err)
	}
	if infos := w.list(); len(infos) != 0 {
		t.Errorf("the clusters are %+v", infos)
	}
	if err := w.backend.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := w.backend.read("lab"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the record is still there: %v", err)
	}
}

func TestE2E_TwoAtOnceShareOneCluster(t *testing.T) {
	w := newWorld(t)
	defer w.expectNothingLeft()
	type result struct {
		cluster *devcluster.Cluster
		err     error
	}
	results := make(chan result, 2)
	for range 2 {
		go func() {
			c, err := devcluster.Open(t.Context(), devcluster.Options{Project: "/src/hello"})
			results <- result{c, err}
		}()
	}
	for range 2 {
		r := <-results
		if r.err != nil || r.cluster.Name != "hello" || r.cluster.Provider != devcluster.K3d || r.cluster.Started {
			t.Errorf("the cluster is %+v, %v", r.cluster, r.err)
			continue
		}
		if err := r.cluster.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	w.expectState("hello", devcluster.Running)
	w.must("cluster", "delete", "hello")
}

func TestE2E_PullsImageWithProgress(t *testing.T) {
	w := newWorld(t)
	defer w.expectNothingLeft()
	info, err := devcluster.Create(t.Context(), devcluster.Options{Name: "store", K3d: devcluster.K3dOptions{Registry: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.must("cluster", "delete", "store")
	gateway, err := w.hostGateway(t.Context(), networkName("store"), standIn)
	if err != nil || !gateway.Is4() {
		t.Errorf("the address of this machine is %v, %v", gateway, err)
	}
	const local = "kopf.test/small:v1"
	small := info.Registry + "/small:v1"
	content := dockertest.Rootfs{"bin/k3s": filepath.Join(e2eDir, "k3s")}
	if err := content.Import(t.Context(), w, local, "/bin/k3s"); err != nil {
		t.Fatal(err)
	}
	w.push(local, small)
	for _, name := range []string{local, small} {
		if _, err := w.ImageRemove(t.Context(), name, image.RemoveOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s := newSteps(devcluster.Options{})
	defer s.end()
	if err := w.ensureImage(t.Context(), small, s); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Phase != devcluster.PhasePull || s.now.Done == 0 || !strings.Contains(s.now.Message, small) {
		t.Errorf("the last step is %+v", s.now)
	}
}
