// Package guarding has handlers of changes and of admission.
package guarding

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/leaderelection"
)

// Register is called by kopf run.
func Register(r *kopf.Registry) {
	leaderelection.Register(r)
	maps := kopf.Resource("v1", "configmaps")
	kopf.OnCreate(r, maps, create, kopf.Labels{"guarded": "yes"})
	kopf.OnValidate(r, maps, check, kopf.Labels{"guarded": "yes"})
}

func create(context.Context, *kopf.Change[kopf.Object]) error { return nil }

func check(context.Context, *kopf.Admission[kopf.Object]) error { return nil }
