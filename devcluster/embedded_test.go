package devcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/devcluster/internal/apiserver"
	"github.com/kopf-dev/kopf/devcluster/internal/binary"
	"github.com/kopf-dev/kopf/devcluster/internal/fault"
	"github.com/kopf-dev/kopf/devcluster/internal/instance"
)

func open(t *testing.T, o Options) *Cluster {
	t.Helper()
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func create(t *testing.T, o Options) Info {
	t.Helper()
	i, err := Create(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test may have deleted it.
		if err := Delete(context.Background(), i.Name); err != nil && !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
	})
	return i
}

func get(t *testing.T, name string) Info {
	t.Helper()
	i, err := Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestOpen_StartedClusterStopsWithClose(t *testing.T) {
	isolate(t)
	var phases []Phase
	c := open(t, Options{Progress: func(p Progress) { phases = append(phases, p.Phase) }})
	if c.Provider != Embedded || c.Name != "dev" || !c.Started || c.Ephemeral || c.Context != "kopf-dev" || c.Version == "" || c.Reason == "" {
		t.Errorf("got %+v", c)
	}
	if len(phases) != 2 || phases[0] != PhaseStart || phases[1] != PhaseReady {
		t.Errorf("the phases are %q", phases)
	}
	cfg, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if v, err := apiserver.Version(t.Context(), cfg, connectTimeout); err != nil || v != c.Version {
		t.Errorf("it answers %q (%v)", v, err)
	}
	if i := get(t, "dev"); i.State != Running || i.Owner != os.Getpid() || i.Server != c.Server || i.Kubeconfig != c.KubeconfigPath {
		t.Errorf("listed is %+v", i)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if i := get(t, "dev"); i.State != Stopped || i.PID != 0 {
		t.Errorf("afterwards it is %+v", i)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}

func TestOpen_LeavesClusterOfAnotherProcessAlone(t *testing.T) {
	isolate(t)
	// Open two concurrently, so that they also race for the name.
	clusters := make([]*Cluster, 2)
	var wg sync.WaitGroup
	for n := range clusters {
		wg.Go(func() {
			c, err := Open(t.Context(), Options{})
			if err != nil {
				t.Error(err)
				return
			}
			clusters[n] = c
		})
	}
	wg.Wait()
	names := map[string]bool{}
	for _, c := range clusters {
		if c != nil {
			names[c.Name] = true
			defer func() {
				if err := c.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}()
		}
	}
	if !names["dev"] || !names["dev-2"] {
		t.Fatalf("the names are %v", names)
	}
	if _, err := Open(t.Context(), Options{Name: "dev"}); !errors.Is(err, ErrInUse) {
		t.Errorf("asking for the name: %v", err)
	}
	for what, err := range map[string]error{"stop": Stop(t.Context(), "dev"), "delete": Delete(t.Context(), "dev")} {
		if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := Start(t.Context(), "dev", Options{}); !errors.Is(err, ErrInUse) {
		t.Errorf("start: %v", err)
	}
}

func TestOpen_DetachedClusterKeepsRunningAfterClose(t *testing.T) {
	isolate(t)
	i := create(t, Options{})
	if i.State != Running || i.Owner != 0 || i.PID == 0 {
		t.Fatalf("created is %+v", i)
	}
	c := open(t, Options{})
	if c.Name != "dev" || c.Started || c.Server != i.Server {
		t.Errorf("opened is %+v", c)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := get(t, "dev"); now.State != Running || now.PID != i.PID {
		t.Errorf("afterwards it is %+v", now)
	}

	if _, err := Create(t.Context(), Options{}); !errors.Is(err, ErrExists) {
		t.Errorf("creating it again: %v", err)
	}
	if again, err := Start(t.Context(), "dev", Options{}); err != nil || again.PID != i.PID {
		t.Errorf("starting it again: %+v (%v)", again, err)
	}
	if err := Stop(t.Context(), "dev"); err != nil {
		t.Fatal(err)
	}
	if now := get(t, "dev"); now.State != Stopped {
		t.Errorf("stopped it is %+v", now)
	}
	if err := Stop(t.Context(), "dev"); err != nil {
		t.Errorf("stopping it again: %v", err)
	}
	if again, err := Start(t.Context(), "dev", Options{}); err != nil || again.Server != i.Server {
		t.Errorf("starting it: %+v (%v)", again, err)
	}
	if err := Delete(t.Context(), "dev"); err != nil {
		t.Fatal(err)
	}
	if _, err := Get(t.Context(), "dev"); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleted it is %v", err)
	}
}

func TestGet_KilledClusterIsStopped(t *testing.T) {
	isolate(t)
	i := create(t, Options{Name: "lab"})
	if err := syscall.Kill(i.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), stopTimeout)
	defer cancel()
	// Wait for the exit of the process.
	if err := instance.Stop(ctx, i.Dir); err != nil {
		t.Fatal(err)
	}
	if now := get(t, "lab"); now.State != Stopped || now.PID != 0 {
		t.Errorf("got %+v", now)
	}
	if c := open(t, Options{Name: "lab"}); c.Server != i.Server {
		t.Errorf("opened again it is at %s, and was at %s", c.Server, i.Server)
	}
}

func TestOpen_EphemeralClusterDeletesItsData(t *testing.T) {
	isolate(t)
	c := open(t, Options{Ephemeral: true})
	i := get(t, c.Name)
	if !i.Ephemeral || !c.Ephemeral {
		t.Errorf("got %+v and %+v", i, c)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(i.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its data are still there (%v)", err)
	}
}

func TestOpen_SweepsKilledEphemeralCluster(t *testing.T) {
	isolate(t)
	i := create(t, Options{Name: "short", Ephemeral: true})
	if err := syscall.Kill(i.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), stopTimeout)
	defer cancel()
	if err := instance.Stop(ctx, i.Dir); err != nil {
		t.Fatal(err)
	}
	open(t, Options{})
	if _, err := os.Stat(i.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its data are still there (%v)", err)
	}
}

func TestOpen_EachProjectHasItsOwnCluster(t *testing.T) {
	isolate(t)
	first, second := "/first/hello", "/second/hello"
	i := create(t, Options{Project: first})
	if i.Name != "hello" || i.Project != first {
		t.Errorf("created is %+v", i)
	}
	if _, err := Create(t.Context(), Options{Project: first}); !errors.Is(err, ErrExists) {
		t.Errorf("creating it again: %v", err)
	}
	if c := open(t, Options{Project: first}); c.Name != "hello" || c.Started || !strings.Contains(c.Reason, first) {
		t.Errorf("the first project has got %+v", c)
	}
	if _, err := OfProject(t.Context(), second); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), second) {
		t.Errorf("the second project has one already: %v", err)
	}
	other := open(t, Options{Project: second})
	if other.Name == "hello" || !strings.HasPrefix(other.Name, "hello-") || !other.Started {
		t.Errorf("the second project has got %+v", other)
	}
	if i, err := OfProject(t.Context(), second); err != nil || i.Name != other.Name || i.Project != second {
		t.Errorf("the second project's is %+v (%v)", i, err)
	}
	// A name takes any.
	if c := open(t, Options{Name: "hello"}); c.Server != i.Server {
		t.Errorf("by name, it is %+v", c)
	}
}

func TestOpen_FailedEphemeralIsForgotten(t *testing.T) {
	isolate(t)
	program := filepath.Join(t.TempDir(), "controlplane")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(binary.EnvVar, program)
	for range 2 { // the second one finds the logs of the first one
		if _, err := Open(t.Context(), Options{Ephemeral: true, Name: "short"}); !errors.Is(err, fault.ErrStart) {
			t.Errorf("the error is %v", err)
		}
		if infos, err := List(t.Context()); err != nil || len(infos) > 0 {
			t.Errorf("listed are %+v (%v)", infos, err)
		}
	}
}

func TestOpen_CancelledStartLeavesNoProcess(t *testing.T) {
	isolate(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Open(ctx, Options{Progress: func(p Progress) {
		if p.Phase == PhaseStart {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	infos, err := List(t.Context())
	for _, i := range infos {
		if i.PID != 0 {
			t.Errorf("%+v is left", i)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

func TestOpen_FailedStartIsExplained(t *testing.T) {
	for _, test := range []struct{ title, script, says string }{
		{"with a reason", `echo '{"reason":"failed","error":"the disk is full"}'; exit 1`, "the disk is full"},
		{"without an output", "exit 1", "without an output"},
		{"with an invalid output", "echo hello; exit 1", `"hello"`},
	} {
		t.Run(test.title, func(t *testing.T) {
			isolate(t)
			program := filepath.Join(t.TempDir(), "controlplane")
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+test.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv(binary.EnvVar, program)
			_, err := Open(t.Context(), Options{})
			if !errors.Is(err, fault.ErrStart) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "controlplane.log") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// helperEnv makes this test binary open or create a cluster in another process.
const helperEnv = "DEVCLUSTER_TEST_HELPER"

func runHelper(script string) int {
	ctx := context.Background()
	var err error
	switch script {
	case "open":
		var c *Cluster
		if c, err = Open(ctx, Options{}); err == nil {
			fmt.Println(c.Name)
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until killed
		}
	case "create":
		var i Info
		if i, err = Create(ctx, Options{}); err == nil {
			fmt.Println(i.Name)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func TestOpen_ClusterEndsWithKilledParent(t *testing.T) {
	isolate(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"=open")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "dev\n" {
		t.Fatalf("the process said %q (%v)", line, err)
	}
	if i := get(t, "dev"); i.State != Running || i.Owner != cmd.Process.Pid {
		t.Errorf("got %+v", i)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	deadline := time.After(stopTimeout)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for get(t, "dev").PID != 0 {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the cluster is still running after the process that opened it")
		}
	}
}

func TestCreate_ClusterOutlivesItsCreator(t *testing.T) {
	isolate(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"=create")
	cmd.Stderr = os.Stderr
	if out, err := cmd.Output(); string(out) != "dev\n" {
		t.Fatalf("the process said %q (%v)", out, err)
	}
	if i := get(t, "dev"); i.State != Running || i.Owner != 0 {
		t.Errorf("got %+v", i)
	}
	if err := Delete(t.Context(), "dev"); err != nil {
		t.Fatal(err)
	}
}
