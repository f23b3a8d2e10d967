package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// untilLost waits until the inspector tells that the cluster is lost for a reason, or that it is
// not if the reason is empty.
func waitLost(op *kopftest.Operator, reason string) inspect.Operator {
	snapshot := op.WaitInspect(fmt.Sprintf("the cluster is lost: %q", reason), func(s *inspect.Snapshot) bool {
		return strings.Contains(s.Operator.Lost, reason) && (s.Operator.Lost == "") == (reason == "")
	})
	return snapshot.Operator
}

func TestAClusterThatDoesNotAnswerAtTheStartIsToldOf(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	way, config := newOutage(t, testcluster.Config(t))
	way.shut()
	cluster.Create(example("x"))
	op := cluster.Launch(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("created"), kopf.ID("created"))
	}, connect(config))
	if seen := waitLost(op, "connection refused"); seen.State != inspect.OperatorStarting {
		t.Errorf("%+v", seen)
	}
	op.WaitLog("The resources of the cluster cannot be looked for: it is tried again.")
	way.begin()
	c.wait(cluster, "created", 1)
	waitLost(op, "")
	if n := op.CountLog("cannot be looked for"); n > 6 {
		t.Errorf("%d warnings", n)
	}
}

func TestAnOperatorThatWaitsForItsClusterStopsInOrder(t *testing.T) {
	cluster := newCluster(t)
	way, config := newOutage(t, testcluster.Config(t))
	way.shut()
	var cleaned atomic.Bool
	op := cluster.Launch(func(r *kopf.Registry) {
		kopf.OnEvent(r, kexes, func(context.Context, *kopf.Event[kopf.Object]) error { return nil }, kopf.ID("event"))
		kopf.OnCleanup(r, func(context.Context, *kopf.Activity) error { cleaned.Store(true); return nil }, kopf.ID("cleanup"))
	}, connect(config))
	op.WaitLogs("cannot be looked for: it is tried again.", 2)
	op.Stop()
	if !cleaned.Load() {
		t.Error("there was a start, and no cleanup")
	}
}

func TestAClusterThatIsLostAndFoundIsToldOf(t *testing.T) {
	cluster := newCluster(t)
	way, config := newOutage(t, testcluster.Config(t))
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnEvent(r, kexes, func(context.Context, *kopf.Event[kopf.Object]) error { return nil }, kopf.ID("event"))
	}, connect(config))
	waitLost(op, "")
	way.shut()
	waitLost(op, "connection refused")
	way.begin()
	waitLost(op, "") // though nothing has happened to any object
}

func TestALoginThatIsTriedAgainIsToldOf(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	gate := testcluster.NewGatekeeper(t, time.Hour)
	var broken atomic.Bool
	broken.Store(true)
	op := cluster.Launch(func(r *kopf.Registry) {
		kopf.OnLogin(r, func(context.Context, *kopf.Activity) (*kopf.ConnectionInfo, error) {
			if broken.Load() {
				return nil, kopf.Temporaryf(10*time.Millisecond, "the vault is sealed")
			}
			info := &kopf.ConnectionInfo{Config: gate.Config()}
			info.Config.BearerToken, _ = gate.Token()
			return info, nil
		}, kopf.ID("login"))
		kopf.OnCreate(r, kexes, c.does("created"), kopf.ID("created"))
	}, withoutConfig)
	for _, state := range []inspect.OperatorState{inspect.OperatorStarting, inspect.OperatorRunning} {
		if seen := waitLost(op, "cannot log in: the vault is sealed"); seen.State != state {
			t.Errorf("%+v", seen)
		}
		broken.Store(false)
		waitLost(op, "")
		op.WaitInspect("it runs", func(s *inspect.Snapshot) bool { return s.Operator.State == inspect.OperatorRunning })
		if state == inspect.OperatorStarting {
			broken.Store(true)
			gate.Revoke()
			cluster.Create(example("x")) // else nobody would ask for anything
		}
	}
	c.wait(cluster, "created", 1)
	waitHandled(cluster.Object(kex.name(), "x"))
	if c.count("created") != 1 {
		t.Errorf("%q", c.all())
	}
}

func TestAnOperatorThatIsNotLetInAnyMoreCleansUpAndEnds(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	gate := testcluster.NewGatekeeper(t, time.Hour)
	logins := 0
	var did steps
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnLogin(r, func(context.Context, *kopf.Activity) (*kopf.ConnectionInfo, error) {
			if logins++; logins > 1 {
				return nil, nil
			}
			info := &kopf.ConnectionInfo{Config: gate.Config()}
			info.Config.BearerToken, _ = gate.Token()
			return info, nil
		}, kopf.ID("login"))
		kopf.OnCreate(r, kexes, c.does("created"), kopf.ID("created"))
		kopf.Daemon(r, kexes, func(_ context.Context, d *kopf.DaemonRun[kopf.Object]) error {
			<-d.Stopping()
			did.add("daemon")
			return nil
		}, kopf.ID("daemon"))
		kopf.OnCleanup(r, func(context.Context, *kopf.Activity) error { did.add("cleanup"); return nil }, kopf.ID("cleanup"))
	}, withoutConfig)
	x := cluster.Create(example("x"))
	waitHandled(x)
	op.WaitLog("Daemon 'daemon' is invoked.")
	gate.Revoke()
	x.Patch(tree{"metadata": tree{"labels": tree{"a": "b"}}})
	cluster.Create(example("y")) // somebody has to ask for something
	if err := op.WaitEnd(); !errors.Is(err, kopf.ErrLogin) || !strings.Contains(err.Error(), "cannot log in to the cluster: no usable credentials") {
		t.Error(err)
	}
	if want := []string{"daemon", "cleanup"}; strings.Join(did.all, " ") != strings.Join(want, " ") {
		t.Errorf("%q", did.all)
	}
	for _, name := range []string{"x", "y"} {
		cluster.Object(kex.name(), name).Patch(tree{"metadata": tree{"finalizers": nil}})
	}
}
