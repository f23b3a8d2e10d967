// Package handlers is an operator that shows how to test operators.
package handlers

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Example has the fields that the handlers read and write.
type Example struct {
	Spec struct {
		Field string   `json:"field"`
		Items []string `json:"items"`
	} `json:"spec"`
	Status struct {
		Phase     string `json:"phase,omitempty"`
		Reminders int    `json:"reminders,omitempty"`
	} `json:"status"`
}

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.OnCreate(r, kex, create, kopf.Attempts(5))
	kopf.OnField(r, kex, "spec.items", count, kopf.Labels{"counted": "yes"})
	kopf.Daemon(r, kex, remind, kopf.Labels{"reminded": "yes"})
}

func create(_ context.Context, c *kopf.Change[Example]) error {
	if c.Object.Spec.Field == "" {
		return kopf.Permanentf("spec.field must be set")
	}
	if len(c.Object.Spec.Items) == 0 && c.Retry < 2 {
		return kopf.Temporaryf(10*time.Millisecond, "there are no items yet")
	}
	c.Logger.Info("the example is created", "field", c.Object.Spec.Field)
	kopf.Edit(c.Patch, func(e *Example) { e.Status.Phase = "Ready" })
	return nil
}

func count(_ context.Context, c *kopf.FieldChange[[]string]) error {
	c.Result = map[string]int{"before": len(c.Old), "now": len(c.New)}
	return nil
}

// remind logs a reminder and counts it once an hour.
func remind(ctx context.Context, d *kopf.DaemonRun[Example]) error {
	for n := 1; d.Sleep(time.Hour); n++ {
		d.Logger.Info("the example still exists", "field", d.Object().Spec.Field)
		kopf.Edit(d.Patch, func(e *Example) { e.Status.Reminders = n })
		if err := d.Apply(ctx); err != nil {
			return err
		}
	}
	kopf.Edit(d.Patch, func(e *Example) { e.Status.Reminders = 0 })
	return nil
}
