package e2e

import (
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
	}, proxy.Connect, settings(func(s *kopf.Settings) {
		s.Scanning.Disabled = true // the first resourceVersion that the proxy sees is the object's
	}))
	x.WaitGone()
	op.WaitInspect("the object is forgotten", func(s *inspect.Snapshot) bool { return len(s.Objects) == 0 })
	op.Pause()
	// The oldest version that the proxy knows, and the events since then a moment later.
	stale := kopftest.Fault{Kind: kopftest.FaultStale, Age: time.Hour, Delay: 300 * time.Millisecond}
	proxy.Set(kopftest.Faults{Rules: []kopftest.FaultRule{{Match: kopftest.Requests("GET", own.plural), Fault: stale, Times: 1}}})
	op.Resume()
	cluster.Create(own.of(example("y")))
	c.wait(cluster, "created", 1)
	op.Stop()
	c.are(t, "deleted", "created")
	wasStale(t, proxy)
}
