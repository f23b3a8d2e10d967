package e2e

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// alarms waits until the operator has so many alarms of a kind, and returns the last one.
func alarms(op *kopftest.Operator, kind inspect.AlarmKind, n int) (last inspect.Alarm) {
	op.WaitInspect(fmt.Sprintf("%d alarms %s", n, kind), func(s *inspect.Snapshot) bool {
		found := 0
		for _, a := range s.Operator.Alarms {
			if a.Kind == kind {
				found, last = found+1, a
			}
		}
		return found == n
	})
	return last
}

func TestAlarms_HotLoopNamesTheField(t *testing.T) {
	for name, field := range map[string]kopf.Path{"update": "spec.field", "event": "status.seen"} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t)
			var calm atomic.Bool
			op := cluster.Run(func(reg *kopf.Registry) {
				if name == "update" {
					kopf.OnUpdate(reg, kexes, func(_ context.Context, c *change) error {
						if !calm.Load() {
							c.Patch.Set(field, time.Now().String())
						}
						return nil
					}, kopf.ID("loops"))
					return
				}
				kopf.OnEvent(reg, kexes, func(_ context.Context, e *kopf.Event[kopf.Object]) error {
					if !calm.Load() && e.Name == "x" {
						e.Patch.Set(field, time.Now().String())
					}
					return nil
				}, kopf.ID("loops"))
			})
			object := cluster.Create(example("x"))
			cluster.Create(example("another"))
			object.Patch(tree{"spec": tree{"field": "begin"}})
			a := alarms(op, inspect.AlarmHotLoop, 1)
			if a.Field != string(field) || a.Object == nil || a.Object.Name != "x" || a.Count < 20 {
				t.Errorf("%+v", a)
			}
			op.WaitLog("Hot loop: the operator's patch of " + string(field))
			calm.Store(true)
			alarms(op, inspect.AlarmHotLoop, 0)
			if n := op.CountLog("Hot loop"); n != 1 {
				t.Errorf("it was logged %d times", n)
			}
		})
	}
}

func TestAlarms_DeletedObjectHasNone(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.OnEvent(reg, kexes, func(_ context.Context, e *kopf.Event[kopf.Object]) error {
			e.Patch.Set("status.seen", time.Now().String())
			return nil
		}, kopf.ID("loops"))
	})
	object := cluster.Create(example("x"))
	alarms(op, inspect.AlarmHotLoop, 1)
	object.Delete()
	alarms(op, inspect.AlarmHotLoop, 0)
}

func TestAlarms_ManyHandlersOfOneObjectAreNoLoop(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(reg *kopf.Registry) {
		for i := range 15 {
			kopf.OnCreate(reg, kexes, func(_ context.Context, c *change) error {
				c.Patch.Set("status.phase", fmt.Sprint(i))
				return nil
			}, kopf.ID(fmt.Sprint("handler-", i)))
		}
	})
	cluster.Create(example("x"))
	op.WaitLog("Creation is processed: 15 succeeded")
	op.Stop()
	if n := op.CountLog("Hot loop"); n != 0 {
		t.Error("handlers that are called one after the other are taken for a loop")
	}
}

func TestAlarms_RefusedPermissionUntilItIsGranted(t *testing.T) {
	cluster := newCluster(t)
	config := permitted(cluster, "list", "watch")
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.OnCreate(reg, kexes, func(context.Context, *change) error { return nil }, kopf.ID("create"))
	}, connect(config))
	cluster.Create(example("x"))
	a := alarms(op, inspect.AlarmForbidden, 1)
	if a.Verb != "patch" || a.Resource != kex.key() || a.Message == "" {
		t.Errorf("%+v", a)
	}
	op.WaitLog("Permission refused: the operator may not patch " + kex.key() + " in " + cluster.Namespace)
	if n := op.CountLog("Permission refused"); n != 1 {
		t.Errorf("it was logged %d times", n)
	}
	requests, err := op.Inspector().Requests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, r := range requests.Kinds {
		counts[fmt.Sprint(r.Verb, " ", r.Resource, " ", r.Code)] = r.Count
	}
	if counts["patch "+kex.key()+" 403"] == 0 || counts["watch "+kex.key()+" 200"] == 0 {
		t.Errorf("the requests are %v", counts)
	}
	grant(cluster, "more", false, rule("kopf.dev", "*", "patch"))
	alarms(op, inspect.AlarmForbidden, 0)
}
