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

const sharedState = "Another program has replaced the operator's last-handled state"

func TestSharedPrefix_OperatorWhoseHandlersAreLeftOutWarnsOnce(t *testing.T) {
	cluster := newCluster(t)
	waiting := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(context.Context, *change) error { return kopf.Temporaryf(time.Hour, "not yet") }, kopf.ID("wait"))
	})
	x, y := cluster.Create(example("x")), cluster.Create(example("y"))
	for _, o := range []*kopftest.Object{x, y} {
		o.WaitFor("the other operator waits", func(o *kopf.Object) bool { return annotationOf(o, "kopf.zalando.org/wait") != nil })
	}
	quick := cluster.Run(registerQuick)
	for _, o := range []*kopftest.Object{x, y} {
		o.WaitFor("the records of the operator are gone", func(o *kopf.Object) bool { return annotationOf(o, "kopf.zalando.org/wait") == nil })
	}
	waiting.WaitLog(sharedState)
	if n := strings.Count(waiting.Log(), sharedState); n != 1 {
		t.Errorf("warned %d times:\n%s", n, waiting.Log())
	}
	noWarning(t, quick)
}

func registerQuick(r *kopf.Registry) {
	kopf.OnCreate(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("quick"))
	kopf.OnUpdate(r, kexes, func(_ context.Context, c *change) error {
		c.Patch.Set("status.seen", c.Body.Get("spec.field"))
		return nil
	}, kopf.ID("update"))
}

func TestSharedPrefix_OperatorsWithOwnPrefixesHandleAllObjects(t *testing.T) {
	cluster := newCluster(t)
	var operators []*kopftest.Operator
	for _, name := range []string{"one", "two"} {
		operators = append(operators, cluster.Run(func(r *kopf.Registry) {
			r.Prefix = name + ".example.com"
			first := true
			kopf.OnCreate(r, kexes, func(_ context.Context, c *change) error {
				if first {
					first = false
					return kopf.Temporaryf(0, "at the second attempt")
				}
				c.Patch.Set("status."+kopf.Path(name), "created")
				return nil
			}, kopf.ID("create"))
			kopf.OnDelete(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("delete"))
		}))
	}
	x := cluster.Create(example("x"))
	body := x.WaitFor("it is handled by both", func(o *kopf.Object) bool {
		return o.Get("status.one") == "created" && o.Get("status.two") == "created" &&
			annotationOf(o, "one.example.com/last-handled-configuration") != nil && annotationOf(o, "two.example.com/last-handled-configuration") != nil
	})
	finalizers, _ := body.Get("metadata.finalizers").([]any)
	if len(finalizers) != 2 || slices.Contains(finalizers, any(finalizer)) || annotationOf(body, lastHandled) != nil {
		t.Errorf("the finalizers are %v, the annotations %v", finalizers, body.Get("metadata.annotations"))
	}
	x.Delete()
	x.WaitGone()
	for _, op := range operators {
		noWarning(t, op)
	}
}

// After a pause, an operator finds the last-handled states of the operator that acted meanwhile.
func TestSharedPrefix_HandoverIsNoWarning(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(registerQuick)
	x := cluster.Create(example("x"))
	waitHandled(x)
	paused := cluster.Create(example("paused"))
	waitHandled(paused)

	paused.Patch(tree{"metadata": tree{"annotations": tree{"kopf.dev/paused": ""}}})
	op.WaitLog("Handling of the object is paused")
	op.Pause()
	other := cluster.Run(registerQuick)
	x.Patch(field("a"))
	paused.Patch(tree{"metadata": tree{"annotations": tree{"kopf.dev/paused": nil}}, "spec": tree{"field": "a"}})
	seen(x, "a")
	seen(paused, "a")
	other.Stop()
	op.Resume()
	for _, value := range []string{"b", "c"} {
		x.Patch(field(value))
		paused.Patch(field(value))
		seen(x, value)
		seen(paused, value)
	}
	op.Stop()
	noWarning(t, op)
	noWarning(t, other)
}

func seen(o *kopftest.Object, value string) {
	o.WaitFor("the update to "+value+" is handled", func(o *kopf.Object) bool { return o.Get("status.seen") == value })
}

func annotationOf(o *kopf.Object, name string) any {
	return o.Get(kopf.PathOf("metadata", "annotations", name))
}

func noWarning(t *testing.T, op *kopftest.Operator) {
	t.Helper()
	if log := op.Log(); strings.Contains(log, sharedState) {
		t.Errorf("warned:\n%s", log)
	}
}
