// Package versioned has a handler with a version, and one without.
package versioned

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register is called by kopf run.
func Register(r *kopf.Registry) {
	maps := kopf.Resource("v1", "configmaps")
	kopf.OnCreate(r, maps, create, kopf.Labels{"handled": kopf.Present}, kopf.Version("2"))
	kopf.OnUpdate(r, maps, update, kopf.Labels{"handled": kopf.Present})
}

func create(context.Context, *kopf.Change[kopf.Object]) error { return nil }

func update(context.Context, *kopf.Change[kopf.Object]) error { return nil }
