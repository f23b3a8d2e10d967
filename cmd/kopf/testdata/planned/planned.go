// Package planned is the operator of docs/plan.md.
package planned

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register registers the handler.
func Register(r *kopf.Registry) {
	kopf.OnCreate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), extend)
}

// extend makes short durations long.
func extend(ctx context.Context, c *kopf.Change[kopf.Object]) error {
	if kopf.GetOr(c.Object, "spec.field", "") == "" {
		return kopf.Permanentf("spec.field must be set")
	}
	if kopf.GetOr(c.Object, "spec.duration", "") == "1m" {
		c.Patch.Set("spec.duration", "1h")
	}
	return nil
}
