package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// A stream that starts again may list the objects from an API server that lags behind. A gone object is then
// there once more, with the finalizer and without any record of its deletion.
func TestLateEvents_OldListAfterPauseRepeatsNoDeletion(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	own := ownResource(cluster)
	object := own.of(example("x"))
	object["metadata"].(tree)["finalizers"] = []any{finalizer}
	x := cluster.Create(object)
	x.Delete()
	proxy := cluster.FaultProxy(kopftest.Faults{})
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, own.selector(), c.does("created"), kopf.ID("created"))
		kopf.OnDelete(r, own.selector(), c.does("deleted"), kopf.ID("deleted"))
	}, proxy.Connect, noScan)
	x.WaitGone()
	op.WaitInspect("the object is forgotten", func(s *inspect.Snapshot) bool { return len(s.Objects) == 0 })
	op.Pause()
	listed := nextListIsOld(cluster, proxy, own)
	op.Resume()
	listed()
	cluster.Create(own.of(example("y")))
	c.wait(cluster, "created", 1)
	op.Stop()
	c.are(t, "deleted", "created")
}

// noScan disables the scanning of resources and namespaces. So the first resourceVersion that a proxy sees is an object's.
var noScan = settings(func(s *kopf.Settings) { s.Scanning.Disabled = true })

// nextListIsOld makes the proxy answer the next list of a resource with the oldest versions that it knows, and with the events since then a
// moment later. The returned function waits for this list.
func nextListIsOld(cluster *kopftest.Cluster, proxy *kopftest.FaultProxy, own custom) (listed func()) {
	stale := kopftest.Fault{Kind: kopftest.FaultStale, Age: time.Hour, Delay: 300 * time.Millisecond}
	proxy.Set(kopftest.Faults{Rules: []kopftest.FaultRule{{Match: kopftest.Requests("GET", own.plural), Fault: stale, Times: 1}}})
	return func() {
		cluster.T().Helper()
		cluster.WaitUntil("a list is old", func() bool {
			return slices.ContainsFunc(proxy.Injected(), func(f kopftest.InjectedFault) bool { return f.Fault.Kind == kopftest.FaultStale })
		})
	}
}
