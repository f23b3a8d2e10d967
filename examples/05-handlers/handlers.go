// Package handlers has one or two handlers for each kind of change.
package handlers

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.OnResume(r, kex, resume1)
	kopf.OnCreate(r, kex, create1)
	kopf.OnResume(r, kex, resume2)
	kopf.OnCreate(r, kex, create2)
	kopf.OnUpdate(r, kex, update)
	kopf.OnDelete(r, kex, delete1)
	kopf.OnDelete(r, kex, delete2)
	kopf.OnField(r, kex, "spec.field", field)
}

type change = kopf.Change[kopf.Object]

func resume1(_ context.Context, c *change) error { return logCall(c, "RESUMED 1st") }
func resume2(_ context.Context, c *change) error { return logCall(c, "RESUMED 2nd") }
func create1(_ context.Context, c *change) error { return logCall(c, "CREATED 1st") }
func create2(_ context.Context, c *change) error { return logCall(c, "CREATED 2nd") }
func delete1(_ context.Context, c *change) error { return logCall(c, "DELETED 1st") }
func delete2(_ context.Context, c *change) error { return logCall(c, "DELETED 2nd") }

func update(_ context.Context, c *change) error {
	c.Logger.Info("UPDATED", "from", c.Old.Get("spec"), "to", c.Object.Get("spec"), "diff", c.Diff)
	return nil
}

func field(_ context.Context, c *kopf.FieldChange[string]) error {
	c.Logger.Info("FIELD CHANGED", "from", c.Old, "to", c.New)
	return nil
}

func logCall(c *change, what string) error {
	c.Logger.Info(what)
	return nil
}
