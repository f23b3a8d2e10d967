package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// successRecord is the record of an update handler that has succeeded.
const successRecord = `{"started":"2020-01-01T00:00:00.000000","stopped":"2020-01-01T00:00:01.000000","purpose":"update","retries":1,"success":true,"failure":false}`

// A process that had listed the objects from an API server that lags behind can leave records of an update that
// another process had finished. The next process may see them only after it has seen the object without them.
func TestLeftovers_RecordsOfHandledObjectAreRemoved(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, kexes, c.does("one"), kopf.ID("one"))
		kopf.OnUpdate(r, kexes, c.does("two"), kopf.ID("two"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Patch(field("two"))
	c.wait(cluster, "two", 1)
	waitHandled(x)
	const others = "kopf.zalando.org/of-another-operator"
	x.Patch(tree{"metadata": tree{"annotations": tree{"kopf.zalando.org/one": successRecord, others: successRecord}}})
	left := x.WaitFor("the record is removed", func(o *kopf.Object) bool {
		return progressOf(o.Get("metadata.annotations").(tree), "kopf.zalando.org/one") == nil
	})
	if progressOf(left.Get("metadata.annotations").(tree), others) == nil {
		t.Error("the record of another operator is gone")
	}
	x.Patch(tree{"metadata": tree{"annotations": tree{others: nil}}, "spec": tree{"field": "three"}})
	c.wait(cluster, "one", 2)
	c.wait(cluster, "two", 2)
	waitHandled(x)
	op.Stop()
	c.are(t, "one", "two", "one", "two")
}

// A process lists the object with the leftover of a finished update, from an API server that lags behind. Another process has begun the
// next update meanwhile, and one of its handlers has succeeded.
func TestLeftovers_OldListKeepsRecordsOfUnfinishedUpdate(t *testing.T) {
	l := newLagging(t, withRecord(successRecord))
	begun := withRecord(strings.ReplaceAll(successRecord, "2020", "2021"))
	begun["spec"] = tree{"field": "two"}
	l.x.Patch(begun)
	l.seen.wait(l.Cluster, "unfinished", 2)
	op := l.runWithOldList()
	waitHandled(l.x)
	op.Stop()
	l.calls.are(t, "two")
}

// A process lists the object in the middle of an update, from an API server that lags behind. Another process has finished the update meanwhile.
func TestLeftovers_OldListContinuesNoFinishedUpdate(t *testing.T) {
	begun := withRecord(successRecord)
	begun["spec"] = tree{"field": "two"}
	l := newLagging(t, begun)
	second := l.Run(l.register)
	l.seen.wait(l.Cluster, "handled", 1)
	second.Stop()
	op := l.runWithOldList()
	l.x.Patch(field("three"))
	l.calls.wait(l.Cluster, "two", 2)
	waitHandled(l.x)
	op.Stop()
	l.calls.are(t, "two", "one", "two")
}

// withRecord returns a patch with a record of the handler "one".
func withRecord(record string) tree {
	return tree{"metadata": tree{"annotations": tree{"kopf.zalando.org/one": record}}}
}

// lagging is a cluster with an object x that an operator has handled. A proxy shows the next operator an old version of it.
type lagging struct {
	*kopftest.Cluster
	own         custom
	x           *kopftest.Object
	proxy       *kopftest.FaultProxy
	watcher     *kopftest.Operator
	calls, seen *calls // calls of the change handlers; the states of x that the proxy has seen
}

// newLagging returns such a cluster. The old version is the one that the patch makes.
func newLagging(t *testing.T, old tree) *lagging {
	t.Helper()
	l := &lagging{Cluster: newCluster(t), calls: &calls{}, seen: &calls{}}
	l.own = ownResource(l.Cluster)
	l.x = l.Create(l.own.of(example("x")))
	first := l.Run(l.register)
	waitHandled(l.x)
	first.Stop()
	l.x.Patch(old)
	l.proxy = l.FaultProxy(kopftest.Faults{})
	l.watcher = l.Run(func(r *kopf.Registry) {
		kopf.OnEvent(r, l.own.selector(), func(_ context.Context, e *event) error {
			if handled(e.Object) {
				l.seen.add("handled")
			} else {
				l.seen.add("unfinished")
			}
			return nil
		}, kopf.ID("event"))
	}, l.proxy.Connect, noScan)
	l.seen.wait(l.Cluster, "unfinished", 1)
	return l
}

// register registers two update handlers.
func (l *lagging) register(r *kopf.Registry) {
	kopf.OnUpdate(r, l.own.selector(), l.calls.does("one"), kopf.ID("one"))
	kopf.OnUpdate(r, l.own.selector(), l.calls.does("two"), kopf.ID("two"))
}

// runWithOldList runs an operator whose list is old.
func (l *lagging) runWithOldList() *kopftest.Operator {
	l.T().Helper()
	l.watcher.Stop()
	listed := nextListIsOld(l.Cluster, l.proxy, l.own)
	op := l.Run(l.register, l.proxy.Connect, noScan)
	listed()
	return op
}
