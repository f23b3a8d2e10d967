package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// marking is an operator that writes its version and its process into a config map when it starts.
const marking = `package op

import (
	"context"
	"os"
	"strconv"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

const version = "%d"

func Register(r *kopf.Registry) {
	kopf.OnResume(r, kopf.Resource("v1", "configmaps"), mark, kopf.Labels{"marked": kopf.Present})
	kopf.OnCreate(r, kopf.Resource("v1", "configmaps"), mark, kopf.Labels{"marked": kopf.Present})
}

func mark(_ context.Context, c *kopf.Change[kopf.Object]) error {
	c.Patch.Set(kopf.PathOf("data", "version"), version)
	c.Patch.Set(kopf.PathOf("data", "pid"), strconv.Itoa(os.Getpid()))
	return nil
}
`

// printing is the deployed operator, which prints the objects that it handles.
const printing = `package deployed

import (
	"context"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func Register(r *kopf.Registry) {
	kopf.OnCreate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), handle, kopf.ID("handle"))
	kopf.OnUpdate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), handle, kopf.ID("handle"))
}

func handle(_ context.Context, c *kopf.Change[kopf.Object]) error {
	fmt.Printf("handled %s=%v\n", c.Name, c.Object.Get("spec.field"))
	return nil
}
`

// shared is a cluster in which an operator is deployed, and the module that kopf dev works on.
type shared struct {
	t       *testing.T
	cluster *kopftest.Cluster
	peering *kopftest.Object
	marked  *kopftest.Object // the object with the marks of kopf dev's operator
	dir     string
	env     []string
	save    func(version int)

	operator *exec.Cmd // the deployed one
	log      func() string

	dev  *exec.Cmd
	said func() string
	pid  int // process ID of kopf dev's operator
}

func newShared(t *testing.T) *shared {
	t.Helper()
	s := &shared{t: t, cluster: peeringCluster(t), said: func() string { return "it has not started yet" }}
	s.peering = createPeering(s.cluster, "default")
	s.marked = s.cluster.Create(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "marked", "labels": map[string]any{"marked": "yes"}},
	})
	s.dir, s.env, s.save = sdkTree(t, marking)
	s.deploy()
	return s
}

// deploy builds the deployed operator, and starts it.
func (s *shared) deploy() {
	s.t.Helper()
	folder, program := filepath.Join(s.dir, "deployed"), filepath.Join(s.t.TempDir(), "operator")
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "deployed.go"), []byte(printing), 0o600)); err != nil {
		s.t.Fatal(err)
	}
	build, stdout, stderr := command(s.t, s.dir, "build", "./deployed", "-o", program)
	build.Env = append(build.Env, s.env...)
	if got := code(s.t, build.Run()); got != 0 {
		s.t.Fatalf("%d, %s%s", got, stdout, stderr)
	}
	out, log := outputFile(s.t)
	s.operator = exec.CommandContext(s.t.Context(), program, "-n", s.cluster.Namespace, "--kubeconfig="+s.cluster.Kubeconfig(), "--identity=deployed")
	s.operator.Stdout, s.operator.Stderr, s.log = out, out, log
	if err := s.operator.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// start starts kopf dev.
func (s *shared) start() {
	s.t.Helper()
	s.dev, _, _ = command(s.t, s.dir, "dev", ".", "-n", s.cluster.Namespace, "--kubeconfig="+s.cluster.Kubeconfig())
	s.dev.Env = append(s.dev.Env, s.env...)
	out, said := outputFile(s.t)
	s.dev.Stdout, s.dev.Stderr, s.said = out, out, said
	if err := s.dev.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// waitVersion waits until a version of the code runs, and learns its process. That takes a build.
func (s *shared) waitVersion(version int) {
	s.t.Helper()
	s.wait(fmt.Sprintf("running version %d", version), func() bool {
		marked := s.marked.Get()
		if kopf.GetOr(marked, "data.version", "") != strconv.Itoa(version) {
			return false
		}
		pid, err := strconv.Atoi(kopf.GetOr(marked, "data.pid", ""))
		if err != nil {
			s.t.Fatal(err)
		}
		s.pid = pid
		return true
	})
}

func (s *shared) wait(what string, is func() bool) {
	s.t.Helper()
	defer func() {
		if s.t.Failed() {
			s.t.Logf("kopf dev:\n%s\nthe deployed operator:\n%s", s.said(), s.log())
		}
	}()
	eventuallyWithin(s.t, 5*time.Minute, what, is)
}

// kill ends kopf dev and its operator by kill -9, so that neither can leave the peering.
func (s *shared) kill() {
	s.t.Helper()
	// If it ran, the operator would notice the death of kopf dev and leave the peering.
	if err := syscall.Kill(s.pid, syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
	if err := s.dev.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	_ = s.dev.Wait() // it was killed
	if err := syscall.Kill(s.pid, syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
}

// developers returns the identities in the peering, except "deployed".
func (s *shared) developers() []string {
	s.t.Helper()
	peers, _ := s.peering.Get().Get("status").(map[string]any)
	var all []string
	for identity := range peers {
		if identity != "deployed" {
			all = append(all, identity)
		}
	}
	return all
}

// waitPaused waits until the deployed operator has paused so many times, and is paused by kopf dev.
func (s *shared) waitPaused(times int) {
	s.t.Helper()
	s.wait("paused", func() bool { return strings.Count(s.log(), "Pausing operations in favour of ") >= times })
	s.peering.WaitFor("the deployed operator tells who paused it", func(o *kopf.Object) bool {
		by, _ := o.Get("status.deployed.paused.by").([]any)
		return len(by) == 1 && slices.Contains(s.developers(), fmt.Sprint(by[0]))
	})
}

// resumed returns how many times the deployed operator has resumed.
func (s *shared) resumed() int { return strings.Count(s.log(), "Resuming operations after the pause") }

// handled returns how many times the deployed operator has handled each change.
func (s *shared) handled() map[string]int {
	counts := map[string]int{}
	for line := range strings.Lines(s.log()) {
		if what, ok := strings.CutPrefix(strings.TrimSpace(line), "handled "); ok && strings.HasSuffix(line, "\n") {
			counts[what]++
		}
	}
	return counts
}

func TestDev_PausesDeployedOperatorAndLetsItGo(t *testing.T) {
	const objects = 20
	s := newShared(t)
	all := make([]*kopftest.Object, objects)
	for i := range all {
		all[i] = s.cluster.Create(kopfExample(fmt.Sprintf("kex%d", i), "0"))
	}
	change := func(field string) {
		t.Helper()
		for _, o := range all {
			o.Patch(map[string]any{"spec": map[string]any{"field": field}})
		}
	}
	waitHandled := func(changes int) {
		t.Helper()
		s.wait(fmt.Sprintf("handled: %d changes of each object", changes), func() bool { return len(s.handled()) >= changes*objects })
	}
	waitHandled(1)

	s.start()
	s.waitVersion(0)
	s.waitPaused(1)
	s.wait("told which operators are paused", func() bool {
		return strings.Contains(s.said(), "Operators with a lower priority are paused by this one: deployed (priority 0)")
	})
	identity := s.developers()
	change("1")
	for version := 1; version <= 3; version++ {
		s.save(version)
		s.waitVersion(version)
		if now := s.developers(); !slices.Equal(now, identity) {
			t.Errorf("after %d reloads, %v are in the peering; want %v", version, now, identity)
		}
	}
	if n, handled := s.resumed(), len(s.handled()); n > 0 || handled != objects {
		t.Errorf("during the reloads, the deployed operator resumed %d times, and has handled %d changes", n, handled)
	}

	s.kill()
	s.wait("resumed since the record has expired", func() bool { return s.resumed() == 1 })
	waitHandled(2)
	s.wait("rid of the dead record", func() bool { return len(s.developers()) == 0 })

	s.save(4)
	s.start()
	s.waitVersion(4)
	s.waitPaused(2)
	change("2")
	stop(t, s.dev, s.said)
	if left := s.developers(); len(left) > 0 {
		t.Errorf("kopf dev has ended, and %v are in the peering: %s", left, s.said())
	}
	s.wait("resumed since the record is gone", func() bool { return s.resumed() == 2 })
	waitHandled(3)
	if err := errors.Join(s.operator.Process.Signal(syscall.SIGTERM), s.operator.Wait()); err != nil {
		t.Errorf("%v: %s", err, s.log())
	}
	if n := strings.Count(s.log(), "Pausing operations"); n != 2 || s.resumed() != 2 {
		t.Errorf("the deployed operator paused %d times, and resumed %d times: %s", n, s.resumed(), s.log())
	}
	counts := s.handled()
	for i := range objects {
		for field := range 3 {
			if what := fmt.Sprintf("kex%d=%d", i, field); counts[what] != 1 {
				t.Errorf("the deployed operator handled %s %d times", what, counts[what])
			}
		}
	}
}
