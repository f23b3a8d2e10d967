// Package peering runs beside other operators of the same objects: the one with the highest priority acts.
package peering

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// priority is the operator's priority; lifetime is how soon its peers act after it was killed.
var (
	priority = 100
	lifetime = 20 * time.Second
)

// Register registers the handlers.
func Register(r *kopf.Registry) {
	kopf.OnStartup(r, configure)
	kopf.OnCreate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), create)
}

func configure(_ context.Context, a *kopf.Activity) error {
	a.Settings.Peering.Name = "example"
	a.Settings.Peering.Priority = priority
	a.Settings.Peering.Lifetime = lifetime
	a.Settings.Peering.Mandatory = true // without the object, it waits
	return nil
}

func create(_ context.Context, c *kopf.Change[kopf.Object]) error {
	c.Logger.Info("handling it, since no other operator has precedence")
	c.Result = "created"
	return nil
}
