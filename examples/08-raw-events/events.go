// Package rawevents sees all events of the watch.
package rawevents

import (
	"context"
	"errors"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register is what kopf dev and kopf run look for.
func Register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.OnEvent(r, kex, failing)
	kopf.OnEvent(r, kex, normal)
}

// failing shows that the error is logged, and nothing else comes of it.
func failing(context.Context, *kopf.Event[kopf.Object]) error { return errors.New("oops") }

// normal is called for each event, in their order. An object that was there before the
// operator has no type of event.
func normal(_ context.Context, e *kopf.Event[kopf.Object]) error {
	e.Logger.Info("event received", "type", e.Type, "field", e.Object.Get("spec.field"))
	return nil
}
