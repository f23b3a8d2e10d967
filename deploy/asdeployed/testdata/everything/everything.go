// Package everything is an operator that can do what needs permissions of its own: elections, shards, peering and
// admission.
package everything

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/leaderelection"
)

// Register is called by kopf run.
func Register(r *kopf.Registry) {
	leaderelection.Register(r)
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.OnCreate(r, kex, create)
	kopf.OnValidate(r, kex, validate, kopf.Webhook{IgnoreFailures: true})
	kopf.OnMutate(r, kex, mutate, kopf.Webhook{IgnoreFailures: true})
}

func create(context.Context, *kopf.Change[kopf.Object]) error { return nil }

func validate(context.Context, *kopf.Admission[kopf.Object]) error { return nil }

func mutate(context.Context, *kopf.Admission[kopf.Object]) error { return nil }
