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
)

// untilLost waits until the inspector tells that the cluster is lost for a reason, or that it is
// not if the reason is empty.
func untilLost(t *testing.T, client *inspect.Client, reason string) inspect.Operator {
	t.Helper()
	var seen inspect.Operator
	eventually(t, fmt.Sprintf("the cluster is lost: %q", reason), func() bool {
		snapshot, err := client.Snapshot(t.Context())
		if err != nil {
			return false // it is not served yet
		}
		seen = snapshot.Operator
		return strings.Contains(seen.Lost, reason) && (seen.Lost == "") == (reason == "")
	}, func() any { return seen })
	return seen
}

func TestAClusterThatDoesNotAnswerAtTheStartIsToldOf(t *testing.T) {
	w, c := newWorld(t), &calls{}
	way, config := newOutage(t, testcluster.Config(t))
	way.shut()
	settings, client := inspected(t)
	w.create(example("x"))
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("created"), kopf.ID("created"))
	}, setup{config: config, settings: settings, unready: true})
	if seen := untilLost(t, client, "connection refused"); seen.State != inspect.OperatorStarting {
		t.Errorf("%+v", seen)
	}
	op.journal.wait(t, "The resources of the cluster cannot be looked for: it is tried again.", 1)
	way.begin()
	c.wait(t, "created", 1)
	untilLost(t, client, "")
	if n := op.journal.count("cannot be looked for"); n > 6 {
		t.Errorf("%d warnings", n)
	}
}

func TestAnOperatorThatWaitsForItsClusterStopsInOrder(t *testing.T) {
	w := newWorld(t)
	way, config := newOutage(t, testcluster.Config(t))
	way.shut()
	var cleaned atomic.Bool
	op := w.run(func(r *kopf.Registry) {
		kopf.OnEvent(r, kexes, func(context.Context, *kopf.Event[kopf.Object]) error { return nil }, kopf.ID("event"))
		kopf.OnCleanup(r, func(context.Context, *kopf.Activity) error { cleaned.Store(true); return nil }, kopf.ID("cleanup"))
	}, setup{config: config, unready: true})
	op.journal.wait(t, "cannot be looked for: it is tried again.", 2)
	op.stop()
	if !cleaned.Load() {
		t.Error("there was a start, and no cleanup")
	}
}

func TestAClusterThatIsLostAndFoundIsToldOf(t *testing.T) {
	w := newWorld(t)
	way, config := newOutage(t, testcluster.Config(t))
	settings, client := inspected(t)
	w.run(func(r *kopf.Registry) {
		kopf.OnEvent(r, kexes, func(context.Context, *kopf.Event[kopf.Object]) error { return nil }, kopf.ID("event"))
	}, setup{config: config, settings: settings})
	untilLost(t, client, "")
	way.shut()
	untilLost(t, client, "connection refused")
	way.begin()
	untilLost(t, client, "") // though nothing has happened to any object
}

func TestALoginThatIsTriedAgainIsToldOf(t *testing.T) {
	w, c := newWorld(t), &calls{}
	gate := testcluster.NewGatekeeper(t, time.Hour)
	settings, client := inspected(t)
	var broken atomic.Bool
	broken.Store(true)
	op := w.run(func(r *kopf.Registry) {
		kopf.OnLogin(r, func(context.Context, *kopf.Activity) (*kopf.ConnectionInfo, error) {
			if broken.Load() {
				return nil, kopf.Temporaryf(10*time.Millisecond, "the vault is sealed")
			}
			info := &kopf.ConnectionInfo{Config: gate.Config()}
			info.Config.BearerToken, _ = gate.Token()
			return info, nil
		}, kopf.ID("login"))
		kopf.OnCreate(r, kexes, c.does("created"), kopf.ID("created"))
	}, setup{loggingIn: true, settings: settings, unready: true})
	for _, state := range []inspect.OperatorState{inspect.OperatorStarting, inspect.OperatorRunning} {
		if seen := untilLost(t, client, "cannot log in: the vault is sealed"); seen.State != state {
			t.Errorf("%+v", seen)
		}
		broken.Store(false)
		untilLost(t, client, "")
		eventually(t, "it runs", func() bool {
			snapshot, err := client.Snapshot(t.Context())
			return err == nil && snapshot.Operator.State == inspect.OperatorRunning
		}, func() any { return op.journal.text() })
		if state == inspect.OperatorStarting {
			broken.Store(true)
			gate.Revoke()
			w.create(example("x")) // else nobody would ask for anything
		}
	}
	c.wait(t, "created", 1)
	w.untilHandled("x")
	if c.count("created") != 1 {
		t.Errorf("%q", c.all())
	}
}

func TestAnOperatorThatIsNotLetInAnyMoreCleansUpAndEnds(t *testing.T) {
	w, c := newWorld(t), &calls{}
	gate := testcluster.NewGatekeeper(t, time.Hour)
	logins := 0
	var did steps
	op := w.run(func(r *kopf.Registry) {
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
	}, setup{loggingIn: true})
	w.create(example("x"))
	w.untilHandled("x")
	op.journal.wait(t, "Daemon 'daemon' is invoked.", 1)
	gate.Revoke()
	w.patch("x", tree{"metadata": tree{"labels": tree{"a": "b"}}})
	w.create(example("y")) // somebody has to ask for something
	select {
	case <-op.done:
	case <-time.After(patience):
		t.Fatalf("it goes on:\n%s", op.journal.text())
	}
	if !errors.Is(op.err, kopf.ErrLogin) || !strings.Contains(op.err.Error(), "cannot log in to the cluster: no usable credentials") {
		t.Error(op.err)
	}
	op.err = nil // as it should
	if want := []string{"daemon", "cleanup"}; strings.Join(did.all, " ") != strings.Join(want, " ") {
		t.Errorf("%q", did.all)
	}
	for _, name := range []string{"x", "y"} {
		w.patch(name, tree{"metadata": tree{"finalizers": nil}})
	}
}
