package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

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
	cluster, c := newCluster(t), &calls{}
	own := ownResource(cluster)
	change := func(r *kopf.Registry) {
		kopf.OnUpdate(r, own.selector(), c.does("one"), kopf.ID("one"))
		kopf.OnUpdate(r, own.selector(), c.does("two"), kopf.ID("two"))
	}
	noScan := settings(func(s *kopf.Settings) {
		s.Scanning.Disabled = true // the first resourceVersion that the proxy sees is the object's
	})
	x := cluster.Create(own.of(example("x")))
	first := cluster.Run(change)
	waitHandled(x)
	first.Stop()
	annotations := func(values tree) tree { return tree{"metadata": tree{"annotations": values}} }
	x.Patch(annotations(tree{"kopf.zalando.org/one": successRecord}))
	proxy := cluster.FaultProxy(kopftest.Faults{})
	watcher := cluster.Run(func(r *kopf.Registry) {
		kopf.OnEvent(r, own.selector(), func(context.Context, *event) error { c.add("event"); return nil }, kopf.ID("event"))
	}, proxy.Connect, noScan)
	c.wait(cluster, "event", 1)
	begun := annotations(tree{"kopf.zalando.org/one": strings.ReplaceAll(successRecord, "2020", "2021")})
	begun["spec"] = tree{"field": "two"}
	x.Patch(begun)
	c.wait(cluster, "event", 2)
	watcher.Stop()
	stale := kopftest.Fault{Kind: kopftest.FaultStale, Age: time.Hour, Delay: 300 * time.Millisecond}
	proxy.Set(kopftest.Faults{Rules: []kopftest.FaultRule{{Match: kopftest.Requests("GET", own.plural), Fault: stale, Times: 1}}})
	op := cluster.Run(change, proxy.Connect, noScan)
	waitHandled(x)
	op.Stop()
	c.are(t, "event", "event", "two")
	wasStale(t, proxy)
}

// A process lists the object in the middle of an update, from an API server that lags behind. Another process has finished the update meanwhile.
func TestLeftovers_OldListContinuesNoFinishedUpdate(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	own := ownResource(cluster)
	change := func(r *kopf.Registry) {
		kopf.OnUpdate(r, own.selector(), c.does("one"), kopf.ID("one"))
		kopf.OnUpdate(r, own.selector(), c.does("two"), kopf.ID("two"))
	}
	noScan := settings(func(s *kopf.Settings) {
		s.Scanning.Disabled = true // the first resourceVersion that the proxy sees is the object's
	})
	x := cluster.Create(own.of(example("x")))
	first := cluster.Run(change)
	waitHandled(x)
	first.Stop()
	x.Patch(tree{"metadata": tree{"annotations": tree{"kopf.zalando.org/one": successRecord}}, "spec": tree{"field": "two"}})
	proxy, seen := cluster.FaultProxy(kopftest.Faults{}), &calls{}
	watcher := cluster.Run(func(r *kopf.Registry) {
		kopf.OnEvent(r, own.selector(), func(_ context.Context, e *event) error {
			if handled(e.Object) {
				seen.add("handled")
			} else {
				seen.add("unfinished")
			}
			return nil
		}, kopf.ID("event"))
	}, proxy.Connect, noScan)
	seen.wait(cluster, "unfinished", 1)
	second := cluster.Run(change)
	seen.wait(cluster, "handled", 1)
	second.Stop()
	watcher.Stop()
	stale := kopftest.Fault{Kind: kopftest.FaultStale, Age: time.Hour, Delay: 300 * time.Millisecond}
	proxy.Set(kopftest.Faults{Rules: []kopftest.FaultRule{{Match: kopftest.Requests("GET", own.plural), Fault: stale, Times: 1}}})
	op := cluster.Run(change, proxy.Connect, noScan)
	x.Patch(field("three"))
	c.wait(cluster, "two", 2)
	waitHandled(x)
	op.Stop()
	c.are(t, "two", "one", "two")
	wasStale(t, proxy)
}

// wasStale fails the test if no list was old.
func wasStale(t *testing.T, proxy *kopftest.FaultProxy) {
	t.Helper()
	if !slices.ContainsFunc(proxy.Injected(), func(f kopftest.InjectedFault) bool { return f.Fault.Kind == kopftest.FaultStale }) {
		t.Error("no list was old")
	}
}
