package e2e

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

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
	const (
		record = `{"started":"2020-01-01T00:00:00.000000","stopped":"2020-01-01T00:00:01.000000","purpose":"update","retries":1,"success":true,"failure":false}`
		others = "kopf.zalando.org/of-another-operator"
	)
	x.Patch(tree{"metadata": tree{"annotations": tree{"kopf.zalando.org/one": record, others: record}}})
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
