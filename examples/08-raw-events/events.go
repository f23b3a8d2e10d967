// Package rawevents handles watch events.
package rawevents

import (
	"context"
	"errors"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.OnEvent(r, kex, failing)
	kopf.OnEvent(r, kex, normal)
}

// failing shows that an error is logged and then ignored.
func failing(context.Context, *kopf.Event[kopf.Object]) error { return errors.New("oops") }

// normal is called for each event, in order. The type is empty for an object that existed before
// the operator started.
func normal(_ context.Context, e *kopf.Event[kopf.Object]) error {
	e.Logger.Info("event received", "type", e.Type, "field", e.Object.Get("spec.field"))
	return nil
}
