// Package retrying has a handler that is always retried.
package retrying

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register is called by kopf run.
func Register(r *kopf.Registry) {
	kopf.OnCreate(r, kopf.Resource("v1", "configmaps"), attach, kopf.Labels{"attach": kopf.Present}, kopf.Attempts(50))
}

func attach(context.Context, *kopf.Change[kopf.Object]) error {
	return kopf.Temporaryf(time.Hour, "still attached")
}
