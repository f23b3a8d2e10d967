// Package electing can take part in leader elections.
package electing

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/leaderelection"
)

// Register is called by kopf run.
func Register(r *kopf.Registry) {
	leaderelection.Register(r)
	kopf.OnCreate(r, kopf.Resource("v1", "configmaps"), handle, kopf.Labels{"elected": kopf.Present})
}

func handle(context.Context, *kopf.Change[kopf.Object]) error { return nil }
