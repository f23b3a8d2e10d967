package e2e

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// conditioned has the status of the API conventions.
type conditioned struct {
	Spec struct {
		Field string `json:"field"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64              `json:"observedGeneration,omitempty"`
		Conditions         []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status"`
}

// setReady records the condition Ready, as docs/status-and-conditions.md does.
func setReady(r *kopf.Request, status metav1.ConditionStatus, reason, message string) {
	generation := kopf.GetOr(r.Body, "metadata.generation", int64(0))
	kopf.Edit(r.Patch, func(o *conditioned) {
		o.Status.ObservedGeneration = generation
		meta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{
			Type: "Ready", Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
		})
	})
}

// waitReady waits for the condition Ready of a generation.
func waitReady(o *kopftest.Object, status string, generation int64) {
	o.T().Helper()
	o.WaitFor("Ready is "+status, func(o *kopf.Object) bool {
		conditions, _ := o.Get("status.conditions").([]any)
		if len(conditions) != 1 || o.Get("status.observedGeneration") != generation {
			return false
		}
		ready, _ := conditions[0].(tree)
		return ready["type"] == "Ready" && ready["status"] == status && ready["observedGeneration"] == generation
	})
}

func TestStatus_ConditionOfFailedAttemptIsStored(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		judge := func(_ context.Context, r *kopf.Change[conditioned]) error {
			c.add("judge " + r.Object.Spec.Field)
			if r.Object.Spec.Field == "bad" {
				setReady(&r.Request, metav1.ConditionFalse, "BadField", "spec.field is bad")
				return kopf.Permanentf("spec.field is bad")
			}
			setReady(&r.Request, metav1.ConditionTrue, "Done", "")
			return nil
		}
		kopf.OnCreate(r, kexes, judge, kopf.ID("judge"))
		kopf.OnUpdate(r, kexes, judge, kopf.ID("judge"))
	})
	x := cluster.Create(example("x"))
	waitReady(x, "True", 1)
	op.WaitHandled(x)
	x.Patch(field("bad"))
	waitReady(x, "False", 2)
	op.WaitFailed(x)
	x.Patch(field("good"))
	waitReady(x, "True", 3)
	op.WaitHandled(x)
	// The operator's own changes of the status call no handler.
	c.are(t, "judge value", "judge bad", "judge good")
}

func TestStatus_UndoneEditRaisesObservedGenerationByItsField(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnField(r, kexes, "metadata.generation", func(_ context.Context, r *kopf.FieldChange[int64]) error {
			c.add("observe")
			setReady(&r.Request, metav1.ConditionTrue, "Done", "")
			return nil
		}, kopf.ID("observe"), kopf.Reasons(kopf.ReasonCreate, kopf.ReasonUpdate))
	})
	x := cluster.Create(example("x"))
	waitReady(x, "True", 1)
	op.WaitHandled(x)
	op.Pause()
	x.Patch(field("other"))
	x.Patch(field("value"))
	op.Resume()
	waitReady(x, "True", 3)
	op.WaitHandled(x)
	c.are(t, "observe", "observe")
}
