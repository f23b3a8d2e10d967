// Package events posts Kubernetes events about the handled objects.
package events

import (
	"context"
	"errors"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	kopf.OnCreate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), create)
}

// create posts events of all types. "kubectl describe" shows them with the object.
func create(_ context.Context, c *kopf.Change[kopf.Object]) error {
	c.Recorder.Event("SomeType", "SomeReason", "Some message")
	c.Recorder.Info("SomeReason", "All is well")
	c.Recorder.Warn("SomeReason", "Not all is well")
	c.Recorder.Error("SomeReason", errors.New("nothing is well"))
	return nil
}
