package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// waitLost waits until the inspector reports the loss of the cluster for a reason. If the reason is
// empty, it waits until the cluster is not lost.
func waitLost(op *kopftest.Operator, reason string) inspect.Operator {
	op.T().Helper()
	snapshot := op.WaitInspect(fmt.Sprintf("the cluster is lost: %q", reason), func(s *inspect.Snapshot) bool {
		return strings.Contains(s.Operator.Lost, reason) && (s.Operator.Lost == "") == (reason == "")
	})
	return snapshot.Operator
}

func TestConnection_ReportsOutageAtStart(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	proxy := cluster.FaultProxy(kopftest.Faults{})
	proxy.Down()
	cluster.Create(example("x"))
	op := cluster.Launch(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("created"), kopf.ID("created"))
	}, proxy.Connect)
	if seen := waitLost(op, "connection refused"); seen.State != inspect.OperatorStarting {
		t.Errorf("%+v", seen)
	}
	op.WaitLog("Cannot discover the resources of the cluster; retrying")
	proxy.Up()
	c.wait(cluster, "created", 1)
	waitLost(op, "")
	if n := op.CountLog("Cannot discover the resources"); n != 1 {
		t.Errorf("%d warnings", n)
	}
	op.WaitLog("The resources of the cluster can be discovered again")
}

func TestConnection_StopsInOrderDuringOutage(t *testing.T) {
	cluster := newCluster(t)
	proxy := cluster.FaultProxy(kopftest.Faults{})
	proxy.Down()
	var cleaned atomic.Bool
	op := cluster.Launch(func(r *kopf.Registry) {
		kopf.OnEvent(r, kexes, func(context.Context, *event) error { return nil }, kopf.ID("event"))
		kopf.OnCleanup(r, func(context.Context, *kopf.Activity) error { cleaned.Store(true); return nil }, kopf.ID("cleanup"))
	}, proxy.Connect)
	op.WaitLog("Cannot discover the resources of the cluster; retrying")
	op.Stop()
	if !cleaned.Load() {
		t.Error("there was a start, and no cleanup")
	}
}

func TestConnection_ReportsLossAndReturn(t *testing.T) {
	cluster := newCluster(t)
	proxy := cluster.FaultProxy(kopftest.Faults{})
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnEvent(r, kexes, func(context.Context, *event) error { return nil }, kopf.ID("event"))
	}, proxy.Connect)
	waitLost(op, "")
	proxy.Down()
	waitLost(op, "connection refused")
	proxy.Up()
	waitLost(op, "") // though nothing has happened to any object
}

func TestWatch_BrokenOnesLoseNothing(t *testing.T) {
	for name, words := range map[string]string{"dropped": "", "410 Gone": expired} {
		t.Run(name, func(t *testing.T) {
			cluster, c, b := newCluster(t), &calls{}, &breaker{}
			op := cluster.Run(func(r *kopf.Registry) {
				kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
					c.add("created " + r.Name)
					return nil
				}, kopf.ID("created"))
				kopf.OnUpdate(r, kexes, func(_ context.Context, r *change) error {
					c.add("updated " + r.Name)
					return nil
				}, kopf.ID("updated"))
				kopf.OnResume(r, kexes, c.does("resumed"), kopf.ID("resumed"))
			}, transport(b.wrap))
			changed := cluster.Create(example("changed"))
			deleted := cluster.Create(example("deleted"))
			waitHandled(changed)
			waitHandled(deleted)
			const times = 3
			for i := range times {
				b.end(words)
				changed.Patch(tree{"spec": tree{"field": fmt.Sprint(i)}})
				cluster.Create(example(fmt.Sprintf("new-%d", i)))
				c.wait(cluster, "updated changed", i+1)
				c.wait(cluster, fmt.Sprintf("created new-%d", i), 1)
			}
			deleted.Delete()
			op.WaitLog("really deleted")
			waitHandled(changed)
			if n := c.count("updated changed"); n != times {
				t.Errorf("updated %d times instead of %d", n, times)
			}
			if n := c.count("resumed"); n != 0 {
				t.Errorf("%d objects were resumed by an operator that has run all the time", n)
			}
			if n := b.watches.Load(); n > 4*times {
				t.Errorf("%d watches for %d breaks", n, times)
			}
		})
	}
}

func TestConnection_RestartedServerLosesNothing(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	proxy := cluster.FaultProxy(kopftest.Faults{})
	var requests atomic.Int32
	inHandler, proceed := make(chan struct{}), make(chan struct{})
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("created " + r.Name)
			if r.Name == "interrupted" {
				close(inHandler)
				<-proceed
			}
			return nil
		}, kopf.ID("created"))
		kopf.OnDelete(r, kexes, func(_ context.Context, r *change) error {
			c.add("deleted " + r.Name)
			return nil
		}, kopf.ID("deleted"))
	}, proxy.Connect, transport(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			requests.Add(1)
			return next.RoundTrip(req)
		})
	}))
	old := cluster.Create(example("before"))
	waitHandled(old)
	interrupted := cluster.Create(example("interrupted"))
	<-inHandler
	proxy.Down()
	before := requests.Load()
	close(proceed)
	during := cluster.Create(example("during"))
	old.Delete()
	op.WaitLog("is interrupted")
	cluster.WaitUntil("the operator has tried to come back", func() bool { return requests.Load() >= before+8 })
	began := time.Now()
	proxy.Up()
	waitHandled(interrupted)
	waitHandled(during)
	old.WaitGone()
	t.Logf("back to normal after %s, with %d requests in vain", time.Since(began).Round(time.Millisecond), requests.Load()-before)
	if n := proxy.Connections(); n > 50 {
		t.Errorf("%d connections", n)
	}
	for _, call := range []string{"created before", "created interrupted", "created during", "deleted before"} {
		if n := c.count(call); n != 1 {
			t.Errorf("%s %d times", call, n)
		}
	}
}
