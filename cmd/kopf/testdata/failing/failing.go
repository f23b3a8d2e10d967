// Package failing has a handler that fails permanently.
package failing

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register is called by kopf run.
func Register(r *kopf.Registry) {
	kopf.OnCreate(r, kopf.Resource("v1", "configmaps"), refuse, kopf.Labels{"refuse": kopf.Present})
}

func refuse(context.Context, *kopf.Change[kopf.Object]) error {
	return kopf.Permanentf("no such thing today")
}
