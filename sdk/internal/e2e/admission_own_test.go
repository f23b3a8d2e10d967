package e2e

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// denyUpdates registers a handler that denies all changes, and others that need the finalizer, the progress, the
// last-handled state and a result on the object.
func denyUpdates(own custom, mutate bool, frozen *atomic.Bool) func(*kopf.Registry) {
	return func(r *kopf.Registry) {
		deny := func(_ context.Context, a *admission) error {
			if a.Operation == kopf.OperationUpdate && frozen.Load() {
				return kopf.AdmissionError{Message: "it is frozen", Code: 403}
			}
			return nil
		}
		if mutate {
			kopf.OnMutate(r, own.selector(), deny, kopf.ID("freeze"), kopf.Webhook{Subresource: "*"})
		} else {
			kopf.OnValidate(r, own.selector(), deny, kopf.ID("freeze"), kopf.Webhook{Subresource: "*"})
		}
		kopf.OnCreate(r, own.selector(), func(_ context.Context, c *change) error {
			c.Result = "made"
			return nil
		}, kopf.ID("make"))
		kopf.OnDelete(r, own.selector(), func(context.Context, *change) error { return nil }, kopf.ID("drop"))
	}
}

func TestAdmission_OwnRecordsPassOwnHandlers(t *testing.T) {
	for name, mutate := range map[string]bool{"validating": false, "mutating": true} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t)
			own := ownResource(cluster)
			var frozen atomic.Bool
			frozen.Store(true)
			op := cluster.Run(denyUpdates(own, mutate, &frozen), withWebhooks(cluster))
			op.WaitWebhooks(named(own, "probe", "x"))
			object := cluster.Create(named(own, "x", "y"))
			var made string
			object.WaitResult("make", &made)
			op.WaitHandled(object)

			// Everything else is denied, also together with the operator's records.
			wantDenied(t, object.TryPatch(tree{"spec": tree{"field": "z"}}), "it is frozen", 403)
			wantDenied(t, object.TryPatch(tree{"metadata": tree{"finalizers": nil, "labels": tree{"a": "b"}}}), "it is frozen", 403)

			object.Delete()
			object.WaitGone() // the removal of the finalizer passes
			if log := op.Log(); strings.Contains(log, "cannot be recorded") || strings.Contains(log, "rejected the handlers' patch") {
				t.Error("the operator is denied by its own handlers")
			}
		})
	}
}

func TestAdmission_DeniedRemovalOfFinalizerIsShown(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	var frozen atomic.Bool
	op := cluster.Run(denyUpdates(own, false, &frozen), withWebhooks(cluster), func(o *kopf.Operator) {
		o.Settings.Admission.ReviewOwn = true // as if the webhook were of another operator
		o.Settings.Networking.ErrorBackoffs = func(func(time.Duration) bool) {}
	})
	op.WaitWebhooks(named(own, "probe", "x"))
	object := cluster.Create(named(own, "x", "y"))
	op.WaitHandled(object)
	frozen.Store(true)
	object.Delete()
	op.WaitInspect("the denial is shown", func(s *inspect.Snapshot) bool {
		i := slices.IndexFunc(s.Objects, func(o *inspect.Object) bool { return o.Name == "x" })
		if i < 0 {
			t.Fatal("the object is not shown")
		}
		o := s.Objects[i]
		return o.State == inspect.StateStuck && o.Failing != nil && !s.Operator.Settled &&
			o.Failing.String() == "denied by freeze."+cluster.Namespace+".kopf.dev: it is frozen"
	})
	frozen.Store(false)
	object.WaitGone()
}
