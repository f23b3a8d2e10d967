// Package subhandlers handles each item of a list in its own sub-handler.
package subhandlers

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Example has the fields that the handlers read.
type Example struct {
	Spec struct {
		Items []string `json:"items"`
	} `json:"spec"`
}

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	kopf.OnCreate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), create)
}

// create adds a sub-handler for each item. Each one is retried separately, and create is called
// again until all of them are done.
func create(_ context.Context, c *kopf.Change[Example]) error {
	for _, item := range c.Object.Spec.Items {
		c.Sub(item, func(_ context.Context, c *kopf.Change[Example]) error {
			c.Logger.Info("handling the creation of an item", "item", item)
			c.Result = "made of " + item // stored at status.create/ITEM
			return nil
		})
	}
	return nil
}
