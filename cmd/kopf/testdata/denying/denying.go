// Package denying has an admission handler that denies all objects with the label checked=big.
package denying

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register is called by kopf run.
func Register(r *kopf.Registry) {
	maps := kopf.Resource("v1", "configmaps")
	kopf.OnValidate(r, maps, check, kopf.Labels{"checked": "big"})
	kopf.OnCreate(r, maps, create, kopf.Labels{"checked": kopf.Present})
}

func check(context.Context, *kopf.Admission[kopf.Object]) error {
	return kopf.Permanentf("it is too big")
}

func create(context.Context, *kopf.Change[kopf.Object]) error { return nil }
