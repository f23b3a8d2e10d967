package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/storage"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// pruning defines a resource for the test, whose schema drops most of the status.
func pruning(cluster *kopftest.Cluster) custom {
	cluster.T().Helper()
	own := kex
	own.group = cluster.Namespace + ".kopf.dev"
	own.defineAs(cluster, tree{"type": "object", "properties": tree{
		"spec":   anyFields,
		"status": tree{"type": "object", "properties": tree{"known": tree{"type": "string"}}},
	}})
	return own
}

func TestStatus_PrunedFieldIsWarnedAboutOnce(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	own := pruning(cluster)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, own.selector(), func(_ context.Context, r *change) error {
			c.add("created")
			r.Patch.Set("status.known", "kept")
			r.Result = "unknown"
			return nil
		}, kopf.ID("created"))
		kopf.OnUpdate(r, own.selector(), func(_ context.Context, r *change) error {
			c.add("updated")
			r.Result = "unknown"
			return nil
		}, kopf.ID("created"))
	}, logPatches)
	cluster.Create(own.of(example("x")))
	waitHandled(cluster.Object(own.name(), "x"))
	cluster.Object(own.name(), "x").WaitFor("it has the known field", func(o *kopf.Object) bool { return o.Get("status.known") == "kept" })
	op.WaitLog("Handling cycle is finished")
	cluster.Object(own.name(), "x").Patch(field("changed"))
	waitHandled(cluster.Object(own.name(), "x"))
	op.WaitLogs("Handling cycle is finished", 2)
	c.are(t, "created", "updated")
	if n := len(patchesOf(op)); n != 4 {
		t.Errorf("%d requests:\n%v", n, op.Log())
	}
	const warning = "API server dropped status.created"
	if n := op.CountLog(warning); n != 1 {
		t.Errorf("warned %d times", n)
	}
	for _, e := range op.LogEntries() {
		if strings.Contains(e.Message, warning) && !strings.Contains(e.Message, "x-kubernetes-preserve-unknown-fields: true") {
			t.Errorf("how to mend it? %s", e.Message)
		}
	}
}

func TestStatus_PrunedProgressDoesNotLoop(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	own := pruning(cluster)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, own.selector(), c.does("create_1"), kopf.ID("create_1"))
		kopf.OnCreate(r, own.selector(), c.fails("create_2", kopf.Temporaryf(100*time.Millisecond, "later")), kopf.ID("create_2"))
	}, settings(func(s *kopf.Settings) { s.Persistence.ProgressStorage = storage.Status(storage.StatusFields{}) }), logPatches)
	const objects = 10
	for i := range objects {
		// Meanwhile, the objects before this one could loop.
		cluster.Create(own.of(example(fmt.Sprintf("x%d", i))))
		c.wait(cluster, "create_1", i+1)
	}
	op.WaitLogs("API server dropped status.kopf", objects)
	if calls, requests := len(c.all()), len(patchesOf(op)); calls > 5*objects || requests > 5*objects {
		t.Errorf("%d calls and %d requests for %d objects", calls, requests, objects)
	}
	t.Logf("%d calls and %d requests for %d objects", len(c.all()), len(patchesOf(op)), objects)
}
