// Package rehandled has handlers in their second versions.
package rehandled

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register registers the handlers.
func Register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.OnCreate(r, kex, create, kopf.Version("2"))
	kopf.OnUpdate(r, kex, update)
	kopf.OnField(r, kex, "spec.size", size, kopf.ID("size"), kopf.Version("2"))
}

// create fails for an existing object with the field "fail".
func create(_ context.Context, c *kopf.Change[kopf.Object]) error {
	if c.Rehandled && kopf.GetOr(c.Object, "spec.field", "") == "fail" {
		return kopf.Permanentf("%s is not repaired", c.Name)
	}
	c.Result = map[string]bool{"again": c.Rehandled}
	return nil
}

func update(context.Context, *kopf.Change[kopf.Object]) error { return nil }

func size(_ context.Context, c *kopf.FieldChange[string]) error {
	c.Result = "now " + c.New
	return nil
}
